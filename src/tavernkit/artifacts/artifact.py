"""The artifact itself: what a pipeline makes, kept apart from messages, with its rules and without its versions."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.artifacts.axes import Surface, Visibility
from tavernkit.artifacts.content import ContentType
from tavernkit.artifacts.inclusion import PromptInclusion
from tavernkit.artifacts.presentation import Presentation
from tavernkit.artifacts.retention import Retention
from tavernkit.artifacts.tags import check_tag
from tavernkit.errors import InvalidArtifactError
from tavernkit.values import Value

__all__ = ["Access", "Artifact", "ArtifactKey", "Session"]

Access: TypeAlias = Literal["persisted", "run_only"]


class Session(Value, frozen=True, kw_only=True):
    """Where persisted artifacts live: whose they are, and in which chat."""

    owner_id: str
    session_id: str


class ArtifactKey(Value, frozen=True, kw_only=True):
    """What makes a persisted artifact the one it is; kind, surface and visibility are only its properties."""

    session: Session
    tag: str


class Artifact(Value, frozen=True, kw_only=True):
    """A definition. A persisted artifact has a tag, is read as `art.<tag>` and has versions in a store; a run_only one
    lives in one run, is read as `run.<name>` if it has a tag, and leaves only a redacted trace."""

    id: str
    session: Session
    tag: str | None = None
    kind: str = "any"
    access: Access = "persisted"
    visibility: Visibility = "internal"
    surface: Surface | None = None
    content_type: ContentType = "text"
    inclusion: PromptInclusion | None = None
    retention: Retention = Retention()
    presentation: Presentation | None = None

    def __post_init__(self) -> None:
        if self.tag is not None:
            check_tag(self.tag)
        elif self.access == "persisted":
            raise InvalidArtifactError("A persisted artifact needs a tag: it is read as art.<tag>.")
        if self.access == "persisted" and self.retention.mode == "ephemeral":
            raise InvalidArtifactError(
                f"art.{self.tag} is persisted and ephemeral at once. What lives for one run only is run_only."
            )
        if self.content_type != "json" and self.inclusion is not None and self.inclusion.needs_json:
            raise InvalidArtifactError(
                f"{self.name} is merged as JSON into the prompt, but holds {self.content_type}. Make its content JSON."
            )

    @property
    def key(self) -> ArtifactKey:
        """The logical key of a persisted artifact."""
        if self.tag is None:
            raise InvalidArtifactError("An artifact without a tag has no key.")
        return ArtifactKey(session=self.session, tag=self.tag)

    @property
    def name(self) -> str:
        """How people and templates call it."""
        if self.tag is None:
            return f"the artifact {self.id}"
        return f"art.{self.tag}" if self.access == "persisted" else f"run.{self.tag}"
