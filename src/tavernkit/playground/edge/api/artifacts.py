"""The artifacts of a conversation over HTTP."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from tavernkit.artifacts import ArtifactView, Visibility
from tavernkit.playground.base.paging import behind_number
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, ConversationId, Limit, Page, documented, page
from tavernkit.playground.story.artifacts import service
from tavernkit.playground.story.artifacts.documents import ArtifactVersionOut

TAG_PATTERN = "^[a-z][a-z0-9_]{0,63}$"
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Restore(StrictModel):
    version: Annotated[Number, Field(description="The version whose content is wanted.")]
    based_on_version: Number | None = Field(description="The `head_version` that was read.")


class Reset(StrictModel):
    tags: list[Annotated[str, Field(pattern=TAG_PATTERN)]] | None = Field(
        default=None, max_length=1000, description="Which artifacts; without them, all."
    )


class ArtifactOut(Document):
    """An artifact as it is at the end of the path."""

    tag: str
    kind: str
    visibility: Visibility
    ui_surface: str | None
    head_version: int | None = Field(description="The latest version of all, which a restore is based on.")
    current: ArtifactVersionOut

    @classmethod
    def of(cls, view: ArtifactView) -> Self:
        artifact = view.artifact
        return cls.of_row(
            artifact,
            tag=artifact.key.tag,
            ui_surface=None if artifact.surface is None else str(artifact.surface),
            head_version=view.head_version,
            current=ArtifactVersionOut.of(artifact, view.current),
        )


class ArtifactsOut(BaseModel):
    items: list[ArtifactOut]


class ResetOut(BaseModel):
    archived: int = Field(description="How many versions were put into the archive.")


router = APIRouter(prefix="/conversations/{conversation_id}/artifacts", tags=["artifacts"])

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
