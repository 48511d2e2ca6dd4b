"""Jobs of everybody, for administrators: listed by state, stopped, repeated."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import Uuid, func, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.base import UtcDateTime
from tavernkit.playground.base.database.models import Job, User
from tavernkit.playground.base.jobs.service import announce_job, stop_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import JOBS
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

JobStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "canceled"]


class OwnedJob(Value, frozen=True, kw_only=True):
    """A job, and the name of whose it is; nobody's is the server's own."""

    job: Job
    owner: str | None


async def all_jobs(
    session: AsyncSession,
    viewer: Viewer,
    *,
    status: JobStatus | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[OwnedJob]:
    """The jobs of everybody, newest first, behind the one that `after` names."""
    require_administrator(viewer)
    query = select(Job, User.name).outerjoin(User, User.id == Job.owner_id)
    if status is not None:
        query = query.where(Job.status == status)
    if after is not None:
        place = tuple_(Job.created_at, Job.id)
        query = query.where(place < tuple_(literal(after[0], UtcDateTime()), literal(after[1], Uuid())))
    rows = await session.execute(query.order_by(Job.created_at.desc(), Job.id.desc()).limit(limit))
    return [OwnedJob(job=job, owner=owner) for job, owner in rows]


async def count_jobs(session: AsyncSession) -> dict[str, int]:
    """How many jobs there are in each state."""
    rows = await session.execute(select(Job.status, func.count()).group_by(Job.status))
    return dict(rows.all())


async def cancel_any_job(runtime: Runtime, viewer: Viewer, job_id: UUID) -> Job:
    """Stop a job of anybody; what it has done is kept."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        job = existing(await session.get(Job, job_id, with_for_update=True), _("job"))
        await stop_job(session, runtime, job)
        return job


async def repeat_job(runtime: Runtime, viewer: Viewer, job_id: UUID, *, repeatable: Collection[str]) -> Job:
    """Let a job that has failed or was stopped begin again. Those that came with files cannot: the files are gone."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        job = existing(await session.get(Job, job_id, with_for_update=True), _("job"))
        if job.status not in ("failed", "canceled"):
            raise Refused("conflict", _("Only jobs that failed or were stopped can be repeated."))
        if job.kind not in repeatable:
            sentence = _("A job of this kind cannot be repeated. Start it again on the page where it was begun.")
            raise Refused("conflict", sentence)
        job.status, job.error, job.result = "queued", None, {}
        job.done, job.cancel_requested_at, job.finished_at, job.worker = 0, None, None, None
        job.payload = {name: value for name, value in job.payload.items() if name != "crashes"}
        job.run_after = await runtime.lease_clock.now(session)
        announce(session, JOBS, queued=str(job.id))
        announce_job(session, job.id, job.owner_id)
        return job
