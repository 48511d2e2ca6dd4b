"""Reading what became of runs of pipelines."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job, PipelineRun
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.values import Value


class KnownRun(Value, frozen=True, kw_only=True):
    """A run of pipelines; `job` carries it out, if it is one that was asked for alone, and has the same id."""

    run: PipelineRun
    job: Job | None = None


async def list_pipeline_runs(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[KnownRun]:
    """The runs of pipelines in a conversation, the newest first."""
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        query = known_runs().where(PipelineRun.conversation_id == conversation_id)
        if after is not None:
            time, id = after
            behind = and_(PipelineRun.created_at == time, PipelineRun.id > id)
            query = query.where(or_(PipelineRun.created_at < time, behind))
        rows = await session.execute(query.order_by(PipelineRun.created_at.desc(), PipelineRun.id).limit(limit))
        return [KnownRun(run=run, job=job) for run, job in rows]


async def read_pipeline_run(runtime: Runtime, viewer: Viewer, pipeline_run_id: UUID) -> KnownRun:
    """One run of pipelines."""
    async with runtime.database.read() as session:
        row = (await session.execute(known_runs().where(PipelineRun.id == pipeline_run_id))).one_or_none()
        run, job = existing(row, "run")
        try:
            await conversation_for(session, run.conversation_id, viewer, Access.READ)
        except Refused:
            raise not_found("run") from None
        return KnownRun(run=run, job=job)


async def run_around(session: AsyncSession, run_id: UUID) -> PipelineRun | None:
    """The pipelines around the reply of a run of a conversation."""
    found: PipelineRun | None = await session.scalar(
        select(PipelineRun)
        .where(PipelineRun.run_id == run_id)
        .order_by(PipelineRun.created_at.desc(), PipelineRun.id)
        .limit(1)
    )
    return found


async def runs_around(session: AsyncSession, run_ids: Collection[UUID]) -> dict[UUID, PipelineRun]:
    """The pipelines around the replies of these runs, by run."""
    rows = await session.scalars(
        select(PipelineRun).where(PipelineRun.run_id.in_(run_ids)).order_by(PipelineRun.created_at, PipelineRun.id)
    )
    return {row.run_id: row for row in rows if row.run_id is not None}


def known_runs() -> Select[PipelineRun, Job]:
    """Runs of pipelines with their jobs, where they have one."""
    return select(PipelineRun, Job).outerjoin(Job, (Job.id == PipelineRun.id) & PipelineRun.run_id.is_(None))
