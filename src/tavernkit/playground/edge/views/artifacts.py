"""What the pages are given of artifacts: values that are ready to be shown, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias
from uuid import UUID

from markupsafe import Markup

from tavernkit.artifacts import ArtifactVersion
from tavernkit.playground.edge.views.spaces import PanelView
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


class CardView(VersionView, frozen=True, kw_only=True):
    """An artifact in a panel. `is_fresh`: the last turn has changed it. `opens_change`: it wants to be seen as what has
    changed. `earlier` are the versions before it, newest first, where it wants to be a timeline."""

    is_fresh: bool
    opens_change: bool
    earlier: tuple[VersionView, ...]
    failure: FailureView | None


class FeedView(Value, frozen=True, kw_only=True):
    """A timeline, newest first, of one artifact or of several that share it."""

    id: str
    items: tuple[VersionView, ...]
    tags: tuple[str, ...]
    failures: tuple[FailureView, ...]


class StateView(Value, frozen=True, kw_only=True):
    """The tab with everything that stands in panels and feeds. `rest` are the tags of those that there is no room for;
    `is_awaited`: something is going to be kept here, and nothing is yet. `failed` are those whose steps have made
    nothing, by tag; `may_run`: what has failed can be run again."""

    panel: PanelView
    cards: tuple[CardView, ...]
    rest: tuple[str, ...]
    feeds: tuple[FeedView, ...]
    failed: Mapping[str, FailureView]
    is_awaited: bool
    may_run: bool


class OverlayView(VersionView, frozen=True, kw_only=True):
    """A card over the page; `gist` is the beginning of it on one line."""

    conversation_id: UUID
    gist: str


class ChatArtifactView(VersionView, frozen=True, kw_only=True):
    """What the swipe of a message has left in the chat: an item of its own behind it, or a block inside it."""

    form: Literal["item", "block"]
