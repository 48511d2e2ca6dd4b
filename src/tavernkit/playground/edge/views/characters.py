"""What the pages of characters show."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from markupsafe import Markup

from tavernkit.playground.story.characters.cards import Change
from tavernkit.values import Value

FileState: TypeAlias = Literal["waiting", "reading", "imported", "updated", "same", "skipped", "failed", "left"]


class TileView(Value, frozen=True, kw_only=True):
    """A character in the gallery; `thumbnail` is the name of its small picture's bytes."""

    id: str
    name: str
    initials: str
    thumbnail: str | None
    tags: tuple[str, ...] = ()


class TagView(Value, frozen=True, kw_only=True):
    """A tag to choose; `address` chooses it, or lets go of it where it is chosen."""

    name: str
    address: str
    is_chosen: bool


class RunningImport(Value, frozen=True, kw_only=True):
    """An import that goes on in the background."""

    id: str
    done: int
    total: int


class GalleryView(Value, frozen=True, kw_only=True):
    """A page of the gallery. `after` is the last character of the page before, `more` the address of the next one."""

    tiles: tuple[TileView, ...]
    scope: str
    sort: str
    search: str
    tag: str
    tags: tuple[TagView, ...] = ()
    after: str | None = None
    more: str | None = None
    last: str | None = None
    start: str
    running: tuple[RunningImport, ...] = ()
    problem: str = ""


class FileView(Value, frozen=True, kw_only=True):
    """A file that is being imported; the sentence says what became of it.

    `namesake` is the name of the character that the file could become a version of instead.
    """

    position: int
    name: str
    state: FileState
    sentence: str
    notes: tuple[str, ...] = ()
    character: TileView | None = None
    job_id: str = ""
    namesake: str = ""


class ImportView(Value, frozen=True, kw_only=True):
    """An import: `next` is the first file whose end is not shown yet; `is_over` when there is nothing to wait for."""

    id: str
    done: int
    total: int
    sentence: str
    is_over: bool
    is_stopping: bool
    next: int
    files: tuple[FileView, ...]
    failed: int
    only_failed: bool = False


class CardFieldView(Value, frozen=True, kw_only=True):
    """A text of the card: rendered, or as it is where it is made for models."""

    title: str
    text: str = ""
    html: Markup | None = None


class GreetingView(Value, frozen=True, kw_only=True):
    """A way to begin; `number` counts from 0, and is None where only groups begin like this."""

    title: str
    html: Markup
    number: int | None


class CardBookView(Value, frozen=True, kw_only=True):
    """The lorebook inside a card; `entries` are titles with what they are woken by, of the first ones."""

    name: str
    description: str
    count: int
    enabled: int
    entries: tuple[tuple[str, str], ...]


class CharacterVersionView(Value, frozen=True, kw_only=True):
    """An earlier card; `ended` says what came after it."""

    number: int
    ended: str
    created_at: datetime


class CharacterPageView(Value, frozen=True, kw_only=True):
    """A character's page."""

    id: str
    name: str
    nickname: str
    initials: str
    picture: str | None
    tags: tuple[str, ...]
    creator: str
    card_version: str
    spec_version: int
    version: int
    updated_at: datetime
    is_shared: bool
    can_change: bool
    fields: tuple[CardFieldView, ...]
    greetings: tuple[GreetingView, ...]
    technical: tuple[CardFieldView, ...]
    book: CardBookView | None
    versions: tuple[CharacterVersionView, ...]


class EditView(Value, frozen=True, kw_only=True):
    """The form of a card. `typed` is what its boxes hold, `now` what the card says where it says something else.

    `is_kept`: the boxes hold what somebody typed, which could not be saved.
    """

    id: str
    name: str
    version: int
    typed: dict[str, str]
    greetings: tuple[str, ...]
    group_greetings: tuple[str, ...]
    now: dict[str, str]
    problem: str = ""
    is_kept: bool = False
    picture: str | None = None
    initials: str = ""


class VersionsView(Value, frozen=True, kw_only=True):
    """The earlier cards of a character; `more` is the address of those before."""

    id: str
    name: str
    version: int
    versions: tuple[CharacterVersionView, ...]
    more: str | None


class VersionPageView(Value, frozen=True, kw_only=True):
    """An earlier card, and how it differs from the newest one."""

    id: str
    name: str
    number: int
    version: int
    created_at: datetime
    changes: tuple[Change, ...]
    can_change: bool
    problem: str = ""


class DeletionView(Value, frozen=True, kw_only=True):
    """What deleting a character would take along, and what would stay."""

    id: str
    name: str
    spaces: tuple[str, ...]
    other_spaces: int
    has_spoken: bool
    versions: int
    files: int
