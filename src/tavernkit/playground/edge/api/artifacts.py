"""The artifacts of a conversation over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path

from tavernkit.playground.base.paging import behind_number
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.api.schemas.artifacts import (
    TAG_PATTERN,
    ArtifactOut,
    ArtifactsOut,
    Reset,
    ResetOut,
    Restore,
)
from tavernkit.playground.story.artifacts import service
from tavernkit.playground.story.artifacts.documents import ArtifactVersionOut

router = APIRouter(prefix="/conversations/{conversation_id}/artifacts", tags=["artifacts"])

ConversationId = Annotated[UUID, Path(description="The conversation.")]
Tag = Annotated[str, Path(pattern=TAG_PATTERN, description="The artifact.")]


@router.get("", responses=documented())
async def list_artifacts(caller: ApiCaller, conversation_id: ConversationId) -> ArtifactsOut:
    """What pipelines keep of the conversation, as it is at the end of the path."""
    view = await service.list_artifacts(*caller, conversation_id)
    return ArtifactsOut(items=[ArtifactOut.of(artifact) for artifact in view])


@router.post("/reset", responses=documented(409))
async def reset_artifacts(caller: ApiCaller, conversation_id: ConversationId, reset: Reset) -> ResetOut:
    """Put all versions into the archive and start again."""
    return ResetOut(archived=await service.reset_artifacts(*caller, conversation_id, reset.tags))


@router.get("/{tag}/versions", responses=documented())
async def list_versions(
    caller: ApiCaller, conversation_id: ConversationId, tag: Tag, limit: Limit = 50, after: After = None
) -> Page[ArtifactVersionOut]:
    """What an artifact has been, the newest first: in every swipe, also what is archived."""
    artifact, versions = await service.history_of(
        *caller, conversation_id, tag, behind=behind_number(after), limit=limit + 1
    )
    return page(
        versions, limit, lambda version: ArtifactVersionOut.of(artifact, version), lambda version: (version.version,)
    )


@router.post("/{tag}/restore", status_code=201, responses=documented(409))
async def restore_version(
    caller: ApiCaller, conversation_id: ConversationId, tag: Tag, wanted: Restore
) -> ArtifactVersionOut:
    """Write an earlier version again, as the newest one."""
    restored = await service.restore_version(
        *caller, conversation_id, tag, version=wanted.version, based_on_version=wanted.based_on_version
    )
    return ArtifactVersionOut.of(*restored)
