"""Prompts over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.api.schemas.prompting import ComparisonOut, PreviewIn, PromptChangeOut, SentPromptOut
from tavernkit.playground.story.previews import previewing, queries

router = APIRouter(tags=["prompts"])

RunId = Annotated[UUID, Path(description="The run.")]
Other = Annotated[UUID, Query(alias="with", description="The run whose prompt it is compared with.")]


@router.get("/runs/{run_id}/prompt", responses=documented())
async def show_prompt(caller: ApiCaller, run_id: RunId) -> SentPromptOut:
    """The prompt that a run has sent, with where each part came from and what was left out."""
    return SentPromptOut.of(await queries.read_prompt(*caller, run_id))


@router.get("/runs/{run_id}/prompt/compare", responses=documented())
async def compare_prompts(caller: ApiCaller, run_id: RunId, other: Other) -> ComparisonOut:
    """What has changed from another run's prompt to this one's, block by block."""
    changes = await queries.compare_prompts(*caller, other, run_id)
    return ComparisonOut(before=other, after=run_id, changes=[PromptChangeOut.of(change) for change in changes])


@router.post("/conversations/{conversation_id}/preview", responses=documented(409))
async def preview_prompt(
    caller: ApiCaller, conversation_id: Annotated[UUID, Path(description="The conversation.")], body: PreviewIn
) -> SentPromptOut:
    """The prompt that would be sent now. No model is asked, and nothing is written."""
    prompt = await previewing.preview_prompt(*caller, conversation_id, speaker_id=body.speaker_id, kind=body.kind)
    return SentPromptOut.of(prompt)
