"""Prompts over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from tavernkit.playground.edge.api.errors import documented
from tavernkit.playground.edge.api.requests import Asked, Running
from tavernkit.playground.edge.api.schemas.prompting import ChangeOut, ComparisonOut, PreviewIn, PromptOut
from tavernkit.playground.story.previews import previewing, queries

router = APIRouter(tags=["prompts"])

RunId = Annotated[UUID, Path(description="The run.")]
Other = Annotated[UUID, Query(alias="with", description="The run whose prompt it is compared with.")]


@router.get("/runs/{run_id}/prompt", responses=documented())
async def show_prompt(runtime: Running, viewer: Asked, run_id: RunId) -> PromptOut:
    """The prompt that a run has sent, with where each part came from and what was left out."""
    return PromptOut.of(await queries.read_prompt(runtime, viewer, run_id))


@router.get("/runs/{run_id}/prompt/compare", responses=documented())
async def compare_prompts(runtime: Running, viewer: Asked, run_id: RunId, other: Other) -> ComparisonOut:
    """What has changed from another run's prompt to this one's, block by block."""
    changes = await queries.compare_prompts(runtime, viewer, other, run_id)
    return ComparisonOut(before=other, after=run_id, changes=[ChangeOut.of(change) for change in changes])


@router.post("/conversations/{conversation_id}/preview", responses=documented(409))
async def preview_prompt(
    runtime: Running,
    viewer: Asked,
    conversation_id: Annotated[UUID, Path(description="The conversation.")],
    body: PreviewIn,
) -> PromptOut:
    """The prompt that would be sent now. No model is asked, and nothing is written."""
    prompt = await previewing.preview_prompt(
        runtime, viewer, conversation_id, speaker_id=body.speaker_id, kind=body.kind
    )
    return PromptOut.of(prompt)
