"""What the pages are given of artifacts: values that are ready to be shown, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from markupsafe import Markup

from tavernkit.playground.edge.views.spaces import PanelView
from tavernkit.values import Value

Mark: TypeAlias = Literal["", "new", "changed"]
"""What the last version has done to a part of the one before."""


class ValueView(Value, frozen=True, kw_only=True):
    """A JSON value to be read. `share` is how far a number has come between its bounds, in percent, where that means
    something; `more` is how much there is beside what is shown. What lies too deep is `cut` down to a few words."""

    kind: Literal["text", "number", "nothing", "chips", "list", "object", "cut"]
    text: str = ""
    share: float | None = None
    items: tuple[ValueView, ...] = ()
    fields: tuple[ArtifactFieldView, ...] = ()
    more: int = 0
    mark: Mark = ""


class ArtifactFieldView(Value, frozen=True, kw_only=True):
    """A key in words, and its value."""

    name: str
    value: ValueView


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


class DiffLineView(Value, frozen=True, kw_only=True):
    """A line of a unified diff, and whether it came, went, or stands around what did; `place` says where it is."""

    kind: Literal["came", "went", "around", "place"]
    text: str


class ArtifactChangeView(Value, frozen=True, kw_only=True):
    """What became of the version before. `large`: there is too much of it to be compared here."""

    kind: Literal["first", "same", "words", "lines", "large"]
    words: tuple[WordsView, ...] = ()
    lines: tuple[DiffLineView, ...] = ()
    more: int = 0


class LinkView(Value, frozen=True, kw_only=True):
    """Something that has a page."""

    name: str
    address: str


class FailureView(Value, frozen=True, kw_only=True):
    """A step that has failed, in which turn and why; `address` is the page of its run, if it has one. `may_run`: it can
    be run again by itself."""

    step: str
    sentence: str
    turn: int
    address: str
    may_run: bool = False


class FailedCardView(Value, frozen=True, kw_only=True):
    """An artifact that there is no version of, because its step has failed."""

    tag: str
    name: str
    failure: FailureView


class FeedItemView(Value, frozen=True, kw_only=True):
    """A version in a timeline; `name` is there where several artifacts share it."""

    id: str
    name: str
    turn: int
    created_at: datetime
    content: ContentView


class CardView(Value, frozen=True, kw_only=True):
    """An artifact in a panel. `is_fresh`: the last turn has changed it. `opens_change`: it wants to be seen as what has
    changed. `earlier` are the versions before it, newest first, where it wants to be a timeline."""

    tag: str
    name: str
    address: str
    version: int
    turn: int
    created_at: datetime
    is_fresh: bool
    content: ContentView
    change: ArtifactChangeView
    opens_change: bool = False
    earlier: tuple[FeedItemView, ...] = ()
    failure: FailureView | None = None


class FeedView(Value, frozen=True, kw_only=True):
    """A timeline, newest first, of one artifact or of several that share it."""

    id: str
    name: str
    items: tuple[FeedItemView, ...]
    histories: tuple[LinkView, ...]
    failures: tuple[FailureView, ...] = ()


class StateView(Value, frozen=True, kw_only=True):
    """The tab with everything that stands in panels and feeds. `rest` are those that there is no room for;
    `is_awaited`: something is going to be kept here, and nothing is yet. `failed` are those whose steps have made
    nothing; `may_run`: what has failed can be run again."""

    panel: PanelView
    cards: tuple[CardView, ...]
    rest: tuple[LinkView, ...]
    feeds: tuple[FeedView, ...]
    failed: tuple[FailedCardView, ...]
    is_awaited: bool
    may_run: bool


class OverlayView(Value, frozen=True, kw_only=True):
    """A card over the page; `gist` is the beginning of it on one line."""

    conversation_id: str
    tag: str
    name: str
    version: int
    gist: str
    content: ContentView
    change: ArtifactChangeView | None = None


class ChatArtifactView(Value, frozen=True, kw_only=True):
    """What the swipe of a message has left in the chat: an item of its own behind it, or a block inside it."""

    form: Literal["item", "block"]
    id: str
    name: str
    content: ContentView
    change: ArtifactChangeView | None = None


class ArtifactVersionView(Value, frozen=True, kw_only=True):
    """A version in the history. What people must not see has a `hash` and a `length` instead of a content.

    `archived` says why it was put away, if it was. `is_current`: it is what counts where the story is now.
    """

    number: int
    turn: int
    created_at: datetime
    by: str
    message_address: str
    is_current: bool
    is_on_path: bool
    archived: str
    may_restore: bool
    content: ContentView | None
    change: ArtifactChangeView | None
    hash: str = ""
    length: int = 0


class HistoryView(Value, frozen=True, kw_only=True):
    """A page of everything that an artifact has been. `head_version` is what a restore is based on."""

    conversation_id: str
    title: str
    space_name: str
    tag: str
    name: str
    address: str
    is_hidden: bool
    head_version: int | None
    may_change: bool
    versions: tuple[ArtifactVersionView, ...]
    is_first: bool
    next: str
    problem: str = ""
