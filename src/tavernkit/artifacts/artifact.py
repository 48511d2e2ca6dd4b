"""The artifact itself: what a pipeline makes, who sees it and where, with its rules and without its versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeAlias, get_args

import msgspec

from tavernkit.artifacts.content import ContentType
from tavernkit.artifacts.inclusion import PromptInclusion
from tavernkit.artifacts.retention import Retention
from tavernkit.artifacts.wire import NotesOfReport, Wire, decode, encode, one_of
from tavernkit.errors import InvalidArtifactError
from tavernkit.reading import ReportBuilder
from tavernkit.values import Value

Visibility: TypeAlias = Literal["prompt_only", "ui_only", "prompt_and_ui", "internal"]
SurfacePlace: TypeAlias = Literal["chat_history", "panel", "feed", "overlay", "internal"]

_WITH_ID = ("panel", "feed", "overlay")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def is_in_prompt(visibility: Visibility) -> bool:
    """Whether an artifact may be told to the model."""
    return visibility in ("prompt_only", "prompt_and_ui")


def is_on_page(visibility: str) -> bool:
    """Whether people may see an artifact."""
    return visibility in ("ui_only", "prompt_and_ui")


class Surface(str):
    """Where an artifact stands on the page, such as `panel:rpg_state`; panels, feeds and overlays have an id."""

    __slots__ = ()

    @property
    def place(self) -> SurfacePlace:
        return one_of(self.partition(":")[0], get_args(SurfacePlace), what="A surface")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The surface of that name; else InvalidArtifactError."""
        surface = cls(text)
        _, colon, id = text.partition(":")
        if surface.place not in _WITH_ID:
            if colon:
                raise InvalidArtifactError(f"The surface {surface.place} takes no id, and was given {id[:80]!r}.")
        elif not _ID.fullmatch(id):
            raise InvalidArtifactError(
                f"A {surface.place} needs an id of letters, digits, '_', '.' and '-', as in '{surface.place}:status'."
            )
        return surface


PresentationMode: TypeAlias = Literal["latest_only", "timeline", "diff"]


class Presentation(Wire, frozen=True, kw_only=True):
    """`max_items` limits a timeline to its newest items."""

    blank: ClassVar[Mapping[str, object]] = {"mode": "latest_only"}
    needs: ClassVar[Mapping[str, str]] = {"mode": "uiPresentation needs a mode."}

    mode: PresentationMode
    max_items: int | None = None

    def __post_init__(self) -> None:
        if self.max_items is not None and self.mode != "timeline":
            raise InvalidArtifactError(f"max_items limits a timeline; the presentation {self.mode} shows one item.")
        if self.max_items is not None and self.max_items < 1:
            raise InvalidArtifactError(f"max_items must be at least 1, not {self.max_items}.")


Access: TypeAlias = Literal["persisted", "run_only"]
NonBlank: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]


_TAG = re.compile(r"[a-z][a-z0-9_]{0,63}")
RESERVED_PREFIX = "tk_"
"""Tags that begin with this are kept for TavernKit's own use."""


def check_tag(tag: str) -> str:
    """The tag, if it is one; else InvalidArtifactError."""
    if not _TAG.fullmatch(tag):
        raise InvalidArtifactError(
            f"{tag[:80]!r} cannot be a tag: use a small letter, then up to 63 small letters, digits and underscores."
        )
    if tag.startswith(RESERVED_PREFIX):
        raise InvalidArtifactError(f"The tag {tag!r} begins with {RESERVED_PREFIX!r}, which is reserved. Rename it.")
    return tag


class Session(Value, frozen=True, kw_only=True):
    """Where persisted artifacts live: whose they are, and in which chat."""

    owner_id: str
    session_id: str


class ArtifactKey(Value, frozen=True, kw_only=True):
    """What makes a persisted artifact the one it is; kind, surface and visibility are only its properties."""

    session: Session
    tag: str


class ArtifactDefinition(Wire, frozen=True, kw_only=True):
    """What JSON says about an artifact. A persisted one has a tag, is read as `art.<tag>` and has versions in a store;
    a run_only one lives in one run, is read as `run.<name>` if it has a tag, and leaves only a redacted trace."""

    spellings: ClassVar[Mapping[str, str]] = {
        "promptInclusionJson": "inclusion",
        "retentionPolicy": "retention",
        "retentionPolicyJson": "retention",
        "uiPresentationJson": "presentation",
    }

    id: str = ""
    tag: NonBlank | None = None
    kind: NonBlank = "any"
    access: Access = "persisted"
    visibility: Visibility = "internal"
    surface: Surface | None = msgspec.field(default=None, name="uiSurface")
    content_type: ContentType = "text"
    inclusion: PromptInclusion | None = msgspec.field(default=None, name="promptInclusion")
    retention: Retention = Retention()
    presentation: Presentation | None = msgspec.field(default=None, name="uiPresentation")

    @classmethod
    def usual(cls, said: Mapping[str, object]) -> Mapping[str, object]:
        """Reasoning is shown to people unless it says more, and what is ephemeral is run_only unless it says so."""
        retention = said.get("retention")
        is_ephemeral = isinstance(retention, Retention) and retention.mode == "ephemeral"
        return {
            "visibility": "ui_only" if said.get("kind") == "reasoning" else "internal",
            "access": "run_only" if is_ephemeral else "persisted",
        }

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

    def in_session(self, session: Session, *, id: str) -> Artifact:
        """The artifact of that id in a session."""
        fields = {name: getattr(self, name) for name in ArtifactDefinition.__struct_fields__}
        return Artifact(**{**fields, "id": id, "session": session})

    @property
    def name(self) -> str:
        """How people and templates call it."""
        if self.tag is None:
            return f"the artifact {self.id}"
        return f"art.{self.tag}" if self.access == "persisted" else f"run.{self.tag}"


class Artifact(ArtifactDefinition, frozen=True, kw_only=True):
    """An artifact of a session, without its versions."""

    session: Session

    @property
    def key(self) -> ArtifactKey:
        """The logical key of a persisted artifact."""
        if self.tag is None:
            raise InvalidArtifactError("An artifact without a tag has no key.")
        return ArtifactKey(session=self.session, tag=self.tag)


def read_artifact(source: Mapping[str, object], session: Session, report: ReportBuilder, *, id: str = "") -> Artifact:
    """Read a definition in camelCase or snake_case. `id` stands in where the source has none.

    A word that is none of the allowed ones, or rules that contradict each other, raise InvalidArtifactError: an
    artifact that means something else than it says would be worse. Fields that nobody knows are noted in the report.
    """
    definition = decode(ArtifactDefinition, source, NotesOfReport(report))
    return definition.in_session(session, id=definition.id or id)


def write_artifact(artifact: Artifact) -> dict[str, object]:
    """The definition as `read_artifact` reads it; the session is not part of it."""
    return {name: value for name, value in encode(artifact).items() if name != "session"}
