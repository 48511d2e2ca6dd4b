"""What the side panel of a chat and the page of a space are given."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from tavernkit.values import Value

BookPlace: TypeAlias = Literal["conversation", "space", "character", "persona"]


class Face(Value, frozen=True, kw_only=True):
    """How somebody looks in a list; `picture` is an address, or empty."""

    name: str
    initials: str
    picture: str = ""


class CrumbView(Value, frozen=True, kw_only=True):
    """A place on the way to where somebody is; without an address for those who may not go there."""

    name: str
    address: str


class TrailView(Value, frozen=True, kw_only=True):
    """Where a conversation stands: its space, and the root if it is none itself. `kind` is then what it is.

    `has_panel`: the viewer is in the space, and may open the side panel.
    """

    space_id: str = ""
    crumbs: tuple[CrumbView, ...] = ()
    kind: str = ""
    has_panel: bool = False
    may_begin: bool = False


class TabView(Value, frozen=True, kw_only=True):
    """A tab of the side panel."""

    key: str
    label: str
    address: str
    is_current: bool


class PanelView(Value, frozen=True, kw_only=True):
    """What every tab shows around what is its own. `problem` is why the last thing that was asked for was not done.

    `version` is the conversation's last event when it was drawn, and `shows` the kinds of events that make it old.
    """

    conversation_id: str
    version: int
    shows: str
    title: str
    space_id: str
    space_name: str
    tabs: tuple[TabView, ...]
    tab: str
    problem: str = ""

    @property
    def address(self) -> str:
        """Where the tab is, and where its forms go."""
        return f"/conversations/{self.conversation_id}/panel/{self.tab}"


class ChoiceView(Value, frozen=True, kw_only=True):
    """Something to choose from a list."""

    value: str
    label: str
    is_chosen: bool = False
    hint: str = ""


class MemberView(Value, frozen=True, kw_only=True):
    """Somebody in a space; what the viewer may not change is not offered. An empty tuple is nothing to choose."""

    id: str
    kind: str
    face: Face
    about: str
    address: str
    version: int
    is_here: bool
    is_muted: bool
    may_mute: bool
    may_remove: bool
    may_return: bool
    returning: str
    may_go_up: bool
    may_go_down: bool
    talkativeness: str | None
    personas: tuple[ChoiceView, ...]
    providers: tuple[ChoiceView, ...]
    presets: tuple[ChoiceView, ...]

    @property
    def has_more(self) -> bool:
        return self.talkativeness is not None or bool(self.personas or self.providers or self.presets)


class AddableView(Value, frozen=True, kw_only=True):
    """A character that could join."""

    id: str
    face: Face


class MembersView(Value, frozen=True, kw_only=True):
    """Everybody who is in a space, and who was; `addable` is None where the viewer may add nobody."""

    panel: PanelView
    space_version: int
    members: tuple[MemberView, ...]
    gone: tuple[MemberView, ...]
    addable: tuple[AddableView, ...] | None
    search: str


class LinkedBookView(Value, frozen=True, kw_only=True):
    """A lorebook in play. One inside a card has no link of its own, and is on or off with the card."""

    link_id: str
    name: str
    address: str
    place: BookPlace
    place_name: str
    entries: int
    is_enabled: bool
    may_change: bool


class LorePanelView(Value, frozen=True, kw_only=True):
    """The books in play in a conversation, and those that could be."""

    panel: PanelView
    books: tuple[LinkedBookView, ...]
    attachable: tuple[ChoiceView, ...]
    places: tuple[ChoiceView, ...]


class SpaceStoryView(Value, frozen=True, kw_only=True):
    """A conversation in the list of its space."""

    id: str
    title: str
    kind: str
    messages: int
    last_line: str
    updated_at: datetime


class SpaceView(Value, frozen=True, kw_only=True):
    """The page of a space. `members_address` is where they are managed."""

    id: str
    name: str
    version: int
    is_archived: bool
    may_begin: bool
    may_change: bool
    members: tuple[Face, ...]
    members_address: str
    stories: tuple[SpaceStoryView, ...]
    is_first: bool
    next: str | None
    name_typed: str = ""
    problem: str = ""
