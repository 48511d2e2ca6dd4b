"""Running pipelines, trying profiles, and what became of it, over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path

from tavernkit.playground.base.paging import behind_time
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.api.schemas.jobs import JobOut
from tavernkit.playground.story.dry_runs.dry_run import ask_dry_run
from tavernkit.playground.story.dry_runs.manual import run_pipelines
from tavernkit.playground.story.pipelines.reports import (
    DryRun,
    PipelineRunOut,
    RunPipelines,
    list_pipeline_runs,
    read_pipeline_run,
)

router = APIRouter(tags=["pipelines"])

ConversationId = Annotated[UUID, Path(description="The conversation.")]


@router.post("/pipeline_profiles/{profile_id}/dry_run", status_code=202, responses=documented(409))
async def try_profile(caller: ApiCaller, profile_id: UUID, new: DryRun) -> JobOut:
    """Try a profile on a conversation: models are asked, and nothing is written. The job's result tells each step."""
    return JobOut.of(await ask_dry_run(*caller, profile_id, new))


@router.post("/conversations/{conversation_id}/pipeline_runs", status_code=202, responses=documented(409, 423))
async def start_pipelines(caller: ApiCaller, conversation_id: ConversationId, new: RunPipelines) -> PipelineRunOut:
    """Run the pipelines that have the trigger `api` once, without a reply."""
    known = await run_pipelines(
        *caller, conversation_id, trigger="api", request_id=new.request_id, pipelines=new.pipelines
    )
    return PipelineRunOut.of(known.run, known.job)


@router.get("/conversations/{conversation_id}/pipeline_runs", responses=documented())
async def list_runs(
    caller: ApiCaller, conversation_id: ConversationId, limit: Limit = 50, after: After = None
) -> Page[PipelineRunOut]:
    """What became of the pipelines of a conversation, the newest run first."""
    runs = await list_pipeline_runs(*caller, conversation_id, after=behind_time(after), limit=limit + 1)
    return page(
        runs,
        limit,
        lambda known: PipelineRunOut.of(known.run, known.job),
        lambda known: (known.run.created_at.isoformat(), str(known.run.id)),
    )


@router.get("/pipeline_runs/{pipeline_run_id}", responses=documented())
async def show_run(caller: ApiCaller, pipeline_run_id: UUID) -> PipelineRunOut:
    """What became of the pipelines around a reply, or of those that were run alone."""
    known = await read_pipeline_run(*caller, pipeline_run_id)
    return PipelineRunOut.of(known.run, known.job)
