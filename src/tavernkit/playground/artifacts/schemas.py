"""Artifacts as the API gives them, and what may be done with them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tavernkit.artifacts import (
    Artifact,
    ArtifactVersion,
    ArtifactView,
    ContentType,
    Visibility,
    is_on_page,
    redacted,
)
from tavernkit.playground.storable import presentable

__all__ = ["TAG_PATTERN", "ArtifactOut", "ArtifactsOut", "Reset", "ResetOut", "Restore", "VersionOut"]

TAG_PATTERN = "^[a-z][a-z0-9_]{0,63}$"
Tag = Annotated[str, Field(pattern=TAG_PATTERN)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Restore(In):
    version: Annotated[Number, Field(description="The version whose content is wanted.")]
    based_on_version: Number | None = Field(description="The `head_version` that was read.")


class Reset(In):
    tags: list[Tag] | None = Field(default=None, max_length=1000, description="Which artifacts; without them, all.")


class Redacted(BaseModel):
    """What stands in for content that people must not see."""

    hash: str
    length: int


class VersionOut(BaseModel):
    """A value that an artifact has or had."""

    version: int
    based_on_version: int | None
    content_type: ContentType
    content: Any = Field(default=None, description="Null also where people must not see it.")
    redacted: Redacted | None = Field(default=None, description="In place of what people must not see.")
    turn: int
    message_id: UUID | None = Field(description="The message whose telling made it.")
    swipe_id: UUID | None
    pipeline: str | None
    step: str | None
    created_at: datetime

    @classmethod
    def of(cls, artifact: Artifact, version: ArtifactVersion) -> Self:
        shown = is_on_page(artifact.visibility)
        return cls(
            version=version.version,
            based_on_version=version.based_on_version,
            content_type=version.content_type,
            content=presentable(version.content) if shown else None,
            redacted=None if shown else Redacted(**redacted(version.content)),
            turn=version.turn,
            message_id=None if version.turn_id is None else UUID(version.turn_id),
            swipe_id=None if version.variant_id is None else UUID(version.variant_id),
            pipeline=None if version.writer is None else version.writer.pipeline,
            step=None if version.writer is None else version.writer.step,
            created_at=version.created_at,
        )


class ArtifactOut(BaseModel):
    """An artifact as it is at the end of the path."""

    tag: str
    kind: str
    visibility: Visibility
    ui_surface: str | None
    head_version: int | None = Field(description="The latest version of all, which a restore is based on.")
    current: VersionOut

    @classmethod
    def of(cls, view: ArtifactView) -> Self:
        artifact = view.artifact
        return cls(
            tag=artifact.key.tag,
            kind=artifact.kind,
            visibility=artifact.visibility,
            ui_surface=None if artifact.surface is None else str(artifact.surface),
            head_version=view.head_version,
            current=VersionOut.of(artifact, view.current),
        )


class ArtifactsOut(BaseModel):
    items: list[ArtifactOut]


class ResetOut(BaseModel):
    archived: int = Field(description="How many versions were put into the archive.")
