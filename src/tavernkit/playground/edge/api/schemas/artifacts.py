"""Artifacts as the API gives them, and what may be done with them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field

from tavernkit.artifacts import (
    ArtifactView,
    Visibility,
)
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.artifacts.documents import ArtifactVersionOut

TAG_PATTERN = "^[a-z][a-z0-9_]{0,63}$"
Tag = Annotated[str, Field(pattern=TAG_PATTERN)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Restore(StrictModel):
    version: Annotated[Number, Field(description="The version whose content is wanted.")]
    based_on_version: Number | None = Field(description="The `head_version` that was read.")


class Reset(StrictModel):
    tags: list[Tag] | None = Field(default=None, max_length=1000, description="Which artifacts; without them, all.")


class ArtifactOut(BaseModel):
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
        return cls(
            tag=artifact.key.tag,
            kind=artifact.kind,
            visibility=artifact.visibility,
            ui_surface=None if artifact.surface is None else str(artifact.surface),
            head_version=view.head_version,
            current=ArtifactVersionOut.of(artifact, view.current),
        )


class ArtifactsOut(BaseModel):
    items: list[ArtifactOut]


class ResetOut(BaseModel):
    archived: int = Field(description="How many versions were put into the archive.")
