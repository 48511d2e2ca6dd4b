"""What the pages are given of artifacts: values that are ready to be shown, and nothing else."""

from __future__ import annotations

from typing import Literal, TypeAlias
from uuid import UUID

from markupsafe import Markup

from tavernkit.artifacts import ArtifactVersion
from tavernkit.values import Value

Mark: TypeAlias = Literal["", "new", "changed"]
"""What the last version has done to a part of the one before."""
LineKind: TypeAlias = Literal["came", "went", "around", "place"]


class ValueView(Value, frozen=True, kw_only=True):
    """A JSON value to be read. `share` is how far a number has come between its bounds, in percent, where that means
    something; `fields` are keys in words with their values, and `more` is how much there is beside what is shown. What
    lies too deep is `cut` down to a few words."""

    kind: Literal["text", "number", "nothing", "chips", "list", "object", "cut"]
    text: str = ""
    share: float | None = None
    items: tuple[ValueView, ...] = ()
    fields: tuple[tuple[str, ValueView], ...] = ()
    more: int = 0
    mark: Mark = ""


class ContentView(Value, frozen=True, kw_only=True):
    """What a version holds; `html` has been through `render_markdown`, and `more` characters are not shown."""

    kind: Literal["json", "markdown", "text"]
    value: ValueView | None = None
    html: Markup = Markup()
    text: str = ""
    more: int = 0


class WordsView(Value, frozen=True, kw_only=True):
    """One thing that a version has changed in a JSON value."""

    op: Literal["add", "remove", "replace"]
    where: str
    before: str = ""
    after: str = ""


class ArtifactChangeView(Value, frozen=True, kw_only=True):
    """What became of the version before. `lines` are those of a unified diff: what came, went, or stands around it;
    `place` is where others are left out. `large`: there is too much of it to be compared here."""

    kind: Literal["first", "same", "words", "lines", "large"]
    words: tuple[WordsView, ...] = ()
    lines: tuple[tuple[LineKind, str], ...] = ()
    more: int = 0


class FailureView(Value, frozen=True, kw_only=True):
    """A step that has failed, in which turn and why; `address` is the page of its run, if it has one. `may_run`: it can
    be run again by itself."""

    step: str
    sentence: str
    turn: int
    address: str
    may_run: bool = False


class VersionView(Value, frozen=True, kw_only=True):
    """A version of an artifact that is shown somewhere, and what it has changed, where that is shown as well."""

    tag: str
    version: ArtifactVersion
    content: ContentView
    change: ArtifactChangeView | None = None


class OverlayView(VersionView, frozen=True, kw_only=True):
    """A card over the page; `gist` is the beginning of it on one line."""

    conversation_id: UUID
    gist: str


class ChatArtifactView(VersionView, frozen=True, kw_only=True):
    """What the swipe of a message has left in the chat: an item of its own behind it, or a block inside it."""

    form: Literal["item", "block"]
