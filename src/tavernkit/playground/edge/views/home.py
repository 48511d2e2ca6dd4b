"""What the first page, the page of a new story and the palette are given."""

from __future__ import annotations

from datetime import datetime

from tavernkit.values import Value


class Face(Value, frozen=True, kw_only=True):
    """How somebody looks in a list; `picture` is an address, or empty."""

    name: str
    initials: str
    picture: str = ""


class StoryCard(Value, frozen=True, kw_only=True):
    """A conversation on the first page. `title` and `kind` are empty where they would say nothing."""

    id: str
    title: str
    space_name: str
    kind: str
    faces: tuple[Face, ...]
    last_line: str
    last_at: datetime
    may_restore: bool = False


class CastChoice(Value, frozen=True, kw_only=True):
    """A character or a persona that can be chosen."""

    id: str
    face: Face
    tagline: str
    is_chosen: bool = False


class HomeView(Value, frozen=True, kw_only=True):
    """The first page. `older` is where the list goes on, or empty; `is_first` is false behind that."""

    stories: tuple[StoryCard, ...]
    characters: tuple[CastChoice, ...]
    older: str
    is_first: bool
    model_name: str
    model_is_embedded: bool
    has_model: bool


class ArchiveView(Value, frozen=True, kw_only=True):
    """The page of archived stories; `older` is where the list goes on, or empty."""

    stories: tuple[StoryCard, ...]
    older: str
    is_first: bool


class NewStoryView(Value, frozen=True, kw_only=True):
    """The page on which a story is put together, with what was chosen so far; `has_more`: search finds others."""

    characters: tuple[CastChoice, ...]
    personas: tuple[CastChoice, ...]
    search: str = ""
    has_more: bool = False
    name: str = ""
    error: str = ""


class PaletteLink(Value, frozen=True, kw_only=True):
    """Somewhere to go from the palette."""

    kind: str
    name: str
    about: str
    address: str
