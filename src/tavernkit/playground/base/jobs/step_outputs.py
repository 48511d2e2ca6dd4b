"""What steps of pipelines have made in full, kept only while somebody may go on with it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import PipelineStepRun


async def forget_outputs(session: AsyncSession, pipeline_run_id: UUID) -> None:
    """Nobody takes the run up any more: what its steps were told and have made in full is not kept."""
    steps = update(PipelineStepRun).where(PipelineStepRun.pipeline_run_id == pipeline_run_id)
    await session.execute(steps.values(output=None), execution_options={"synchronize_session": False})
