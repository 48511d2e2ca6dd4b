"""Reading jobs: only one's own."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import UtcDateTime
from tavernkit.playground.base.database.models import Job, JobFile
from tavernkit.values import Value


class JobFileLine(Value, frozen=True, kw_only=True):
    """A file of a job without its bytes."""

    position: int
    name: str
    outcome: dict[str, Any] | None


async def find_job(session: AsyncSession, job_id: UUID, viewer: Viewer, *, lock: bool = False) -> Job | None:
    """The person's job."""
    query = select(Job).where(Job.id == job_id, Job.owner_id == viewer.user_id)
    found: Job | None = await session.scalar(query.with_for_update() if lock else query)
    return found


async def jobs_of(
    session: AsyncSession, viewer: Viewer, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[Job]:
    """The person's jobs, newest first, behind the one that `after` names."""
    place = tuple_(Job.created_at, Job.id)
    query = select(Job).where(Job.owner_id == viewer.user_id).order_by(Job.created_at.desc(), Job.id.desc())
    if after is not None:
        query = query.where(place < tuple_(literal(after[0], UtcDateTime()), literal(after[1], Uuid())))
    return list(await session.scalars(query.limit(limit)))


async def files_of_job(session: AsyncSession, job_id: UUID, *, after: int | None, limit: int) -> list[JobFileLine]:
    """The files that came with a job and what became of them, without their bytes."""
    query = select(JobFile.position, JobFile.name, JobFile.outcome).where(JobFile.job_id == job_id)
    if after is not None:
        query = query.where(JobFile.position > after)
    rows = await session.execute(query.order_by(JobFile.position).limit(limit))
    return [JobFileLine(position=position, name=name, outcome=outcome) for position, name, outcome in rows]
