"""Pipeline runs that have not ended: whether somebody can take one up, and ending those that nobody is going to."""

from __future__ import annotations

from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import RunReport
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.playground.base.database.models import PipelineRun, Run
from tavernkit.playground.base.jobs.service import forget_outputs

MOST_ATTEMPTS = 5
"""How often a run is begun or taken up, so that a step that takes its worker down does not do so for ever."""

ABANDONED = "The run was interrupted and is not taken up again."


def can_be_taken_up() -> ColumnElement[bool]:
    """Whether a run of a conversation has steps to go on with, and no half of a reply in between."""
    is_open = exists().where(
        PipelineRun.run_id == Run.id, PipelineRun.report.is_(None), PipelineRun.attempt < MOST_ATTEMPTS
    )
    return is_open & Run.cancel_requested_at.is_(None) & ((Run.text == "") | Run.replied_at.is_not(None))


async def abandon_pipelines(session: AsyncSession, run_id: UUID, now: datetime) -> None:
    """End what a run of a conversation leaves open, since it has ended itself; what steps have made is forgotten."""
    left = (
        await session.scalars(select(PipelineRun).where(PipelineRun.run_id == run_id, PipelineRun.report.is_(None)))
    ).all()
    for run in left:
        await _abandon(session, run, now, ABANDONED)
    await session.flush()


async def abandon_pipeline_run(session: AsyncSession, pipeline_run_id: UUID, now: datetime, why: str) -> None:
    """End a run of pipelines that belongs to no reply, if it has not ended by itself."""
    run = await session.get_one(PipelineRun, pipeline_run_id, populate_existing=True)
    if run.report is None:
        await _abandon(session, run, now, why)
        await session.flush()


async def _abandon(session: AsyncSession, run: PipelineRun, now: datetime, why: str) -> None:
    report = RunReport(
        run_id=str(run.id),
        idempotency_key=run.idempotency_key,
        profile_id="" if run.profile_id is None else str(run.profile_id),
        profile_version=run.profile_version,
        trigger=cast("PipelineTrigger", run.trigger),
        turn=run.turn,
        status="aborted",
        message=why,
    )
    run.status, run.finished_at, run.report = "aborted", now, msgspec.to_builtins(report)
    await forget_outputs(session, run.id)
