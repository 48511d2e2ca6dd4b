"""One version of an artifact: what was written, by whom, in which turn, and from which version it was worked out."""

from __future__ import annotations

from datetime import datetime

from tavernkit.artifacts.content import ContentType, check_content
from tavernkit.errors import InvalidArtifactError
from tavernkit.values import Value


class Writer(Value, frozen=True, kw_only=True):
    """The pipeline and the step that wrote."""

    pipeline: str
    step: str = ""


class ArtifactVersion(Value, frozen=True, kw_only=True):
    """`turn` counts the user's turns, not regenerations. `turn_id` names the turn that made this version, and
    `variant_id` the swipe of its reply, so that another swipe can be read without it."""

    version: int
    content: object
    created_at: datetime
    content_type: ContentType = "text"
    based_on_version: int | None = None
    turn: int = 0
    turn_id: str | None = None
    variant_id: str | None = None
    writer: Writer | None = None

    def __post_init__(self) -> None:
        if self.version < 1:
            raise InvalidArtifactError(f"Versions are counted from 1, and this one is {self.version}.")
        if self.created_at.tzinfo is None:
            raise InvalidArtifactError("The time of a version must have a time zone.")
        check_content(self.content, self.content_type)
