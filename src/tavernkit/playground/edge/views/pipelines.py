"""What the pages about pipelines are given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from tavernkit.playground.edge.views.pipeline_outline import PipelineOutline
from tavernkit.playground.story.pipelines.checking import Checked
from tavernkit.values import Value


class FollowedPlaceView(Value, frozen=True, kw_only=True):
    """A place where a profile is followed; `fields` name it in the form that ends that."""

    words: str
    address: str
    fields: Mapping[str, str]
    may_change: bool


class ProfileRow(Value, frozen=True, kw_only=True):
    """A profile in the list. `is_on`: it is what was chosen where the page would switch it on."""

    id: UUID
    name: str
    description: str
    is_everybodys: bool
    may_change: bool
    is_on: bool
    places: tuple[FollowedPlaceView, ...]
    problem: str = ""


class ExampleView(Value, frozen=True, kw_only=True):
    """A profile that comes along, and the person's own copy of it. `is_within`: it is followed as a part of another."""

    key: str
    name: str
    description: str
    facts: tuple[str, ...]
    copy: ProfileRow | None
    is_within: bool
    problem: str = ""


class BaseView(Value, frozen=True, kw_only=True):
    """The profile that examples can be added to; `examples` are the keys of those that it holds already."""

    id: UUID
    version: int
    name: str
    examples: tuple[str, ...]


class TargetView(Value, frozen=True, kw_only=True):
    """Where the page switches profiles on: in one conversation, or in everything of the person's.

    `chosen_id` and `chosen` are what was chosen there before; `base` is what is followed there, be it because of a
    wider choice, if examples can be added to it.
    """

    conversation_id: str
    title: str
    chosen_id: UUID | None
    chosen: str
    followed: tuple[FollowedView, ...]
    base: BaseView | None

    @property
    def words(self) -> str:
        return "in this chat" if self.conversation_id else "everywhere"

    @property
    def query(self) -> str:
        return f"?conversation={self.conversation_id}" if self.conversation_id else ""


class ProfilesView(Value, frozen=True, kw_only=True):
    """The list of profiles, with the examples."""

    target: TargetView
    examples: tuple[ExampleView, ...]
    own: tuple[ProfileRow, ...]
    everybodys: tuple[ProfileRow, ...]
    is_first: bool
    next: str | None


class ProfileView(Value, frozen=True, kw_only=True):
    """A profile in the editor: as it is saved, or as somebody has typed it."""

    id: UUID
    title: str
    version: int
    updated_at: datetime
    may_change: bool
    is_everybodys: bool
    name: str
    description: str
    content: str
    checked: Checked
    outline: tuple[PipelineOutline, ...]
    places: tuple[FollowedPlaceView, ...]


class ConflictView(Value, frozen=True, kw_only=True):
    """What somebody else has saved meanwhile, where it differs from what was typed; `lines` compare the JSON."""

    name: str
    description: str
    lines: tuple[tuple[str, str], ...]


class FollowedView(Value, frozen=True, kw_only=True):
    """What is followed in a conversation, and who has decided that; `speaker` where it depends on who speaks."""

    speaker: str
    profile: str
    address: str
    origin: str
