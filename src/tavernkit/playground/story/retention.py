"""How long things are kept: what is in the trash, prompts of runs, recorded replies, events, ended jobs, earlier
versions of cards.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import Job, SiteSetting
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import StrictModel

RETENTION = "retention"
"""The key of the settings under which the periods stand."""
SWEEP_KIND = "sweep"
"""The job that removes everything that is not kept any longer."""
PURGE_KIND = "purge"
"""The job that removes what is in the trash and cannot be restored any more, and looks through nothing else."""
EXPIRED = datetime(1970, 1, 1, tzinfo=UTC)
"""The time in the trash of what nobody can restore any more, and the next sweep removes."""

MAX_DAYS = 3650
Days = Annotated[int, Field(ge=1, le=MAX_DAYS)]


class RetentionPeriods(StrictModel):
    """For how many days things are kept; null is for ever."""

    trash_days: Annotated[int, Field(ge=0, le=MAX_DAYS, description="What is in the trash; 0 removes it at once.")] = 30
    prompt_days: Annotated[Days | None, Field(description="Prompts of runs.")] = None
    stream_days: Annotated[Days | None, Field(description="What providers sent, where it is recorded.")] = 7
    event_days: Annotated[Days, Field(description="Events that open pages have received.")] = 1
    job_days: Annotated[Days | None, Field(description="Records of jobs that have ended.")] = 30
    version_days: Annotated[Days | None, Field(description="Earlier versions of character cards.")] = None


async def read_retention(session: AsyncSession) -> RetentionPeriods:
    """The periods that hold now."""
    setting: SiteSetting | None = await session.get(SiteSetting, RETENTION)
    return RetentionPeriods() if setting is None else RetentionPeriods.model_validate(setting.value["value"])


async def change_retention(runtime: Runtime, viewer: Viewer, retention: RetentionPeriods) -> RetentionPeriods:
    """Set all periods; the next sweep goes by them."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        value = {"value": retention.model_dump()}
        await session.merge(SiteSetting(key=RETENTION, value=value, updated_at=runtime.clock()))
    return retention


async def time_in_trash(session: AsyncSession, runtime: Runtime, viewer: Viewer) -> datetime:
    """Since when something that this transaction deletes is in the trash; without a period it is removed at once."""
    if (await read_retention(session)).trash_days:
        return runtime.clock()
    await request_purge(session, runtime, viewer)
    return EXPIRED


async def request_purge(session: AsyncSession, runtime: Runtime, viewer: Viewer) -> None:
    """Have a worker remove what nobody can restore any more, once this transaction is committed."""
    await _request(session, runtime, viewer, PURGE_KIND)


async def request_sweep(runtime: Runtime, viewer: Viewer) -> UUID:
    """Have a worker remove what is not kept any longer; the id of the job, which may be waiting already."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        return await _request(session, runtime, viewer, SWEEP_KIND)


async def _request(session: AsyncSession, runtime: Runtime, viewer: Viewer, kind: str) -> UUID:
    waiting: UUID | None = await session.scalar(
        select(Job.id).where(Job.kind == kind, Job.status == "queued", Job.owner_id == viewer.user_id).limit(1)
    )
    if waiting is not None:
        return waiting
    return (await enqueue_job(session, runtime, kind=kind, owner_id=viewer.user_id, payload={})).id
