"""A group as SillyTavern keeps it: who belongs to it, who is muted, and how its members take turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

from tavernkit.characters.character import Character
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.errors import UnknownMemberError
from tavernkit.sillytavern.extension_prompts import ExtensionRole, role_named
from tavernkit.sillytavern.macros.environment import GroupNames
from tavernkit.text.js_values import to_number
from tavernkit.values import Json, JsonObject, Value

DEFAULT_TALKATIVENESS = 0.5
DEFAULT_DEPTH = 4
MAX_MEMBERS = 1000


class GroupStrategy(IntEnum):
    """Who speaks when nobody in particular was asked."""

    NATURAL = 0
    LIST = 1
    MANUAL = 2
    POOLED = 3


class CardMode(IntEnum):
    """Whose cards are in the prompt: the speaker's, those of all who are not muted, or everybody's."""

    SWAP = 0
    APPEND = 1
    APPEND_DISABLED = 2


class DepthPrompt(Value, frozen=True, kw_only=True):
    """A card's note for a place in the chat; depth 0 stands behind the last message."""

    text: str = ""
    depth: int = DEFAULT_DEPTH
    role: ExtensionRole = "system"


class GroupMember(Value, frozen=True, kw_only=True):
    """A character that can speak in a group, under the name of its card file."""

    avatar: str
    character: Character
    talkativeness: float = DEFAULT_TALKATIVENESS

    @classmethod
    def of(cls, character: Character, avatar: str) -> GroupMember:
        """The character with the talkativeness that its card gives."""
        return cls(avatar=avatar, character=character, talkativeness=read_talkativeness(character.extensions))

    @property
    def name(self) -> str:
        return self.character.name

    @property
    def depth_prompt(self) -> DepthPrompt:
        """The note of the card, as it was written."""
        source = LooseObject(self.character.extensions, ReportBuilder()).nested("depth_prompt")
        return DepthPrompt(
            text=source.text("prompt"),
            depth=source.integer("depth", default=DEFAULT_DEPTH),
            role=role_named(source.text("role")),
        )


class StoryGroup(Value, frozen=True, kw_only=True):
    """A group and the settings of its chat.

    `cast` is every character at hand, in the order of the application's list; `members` names those of the group by
    their avatars, in the group's order. A member need not be at hand, and somebody at hand may have left the group.
    A strategy of None is one that nobody knows: then nobody speaks unasked.
    """

    cast: tuple[GroupMember, ...]
    members: tuple[str, ...]
    disabled: frozenset[str] = frozenset()
    activation_strategy: GroupStrategy | None = GroupStrategy.NATURAL
    generation_mode: CardMode = CardMode.SWAP
    allow_self_responses: bool = False
    join_prefix: str = ""
    join_suffix: str = ""
    scenario_override: str = ""
    mes_example_override: str = ""

    @classmethod
    def of(cls, *cast: GroupMember) -> StoryGroup:
        """A group of all these characters, in this order."""
        return cls(cast=cast, members=tuple(member.avatar for member in cast))

    def loaded(self) -> dict[str, GroupMember]:
        """Everybody at hand by avatar; where two have the same, the first counts."""
        return {member.avatar: member for member in reversed(self.cast)}

    def find(self, avatar: str) -> GroupMember:
        """The character with this avatar; raises UnknownMemberError when it is not at hand."""
        for member in self.cast:
            if member.avatar == avatar:
                return member
        raise UnknownMemberError(f"No character has the avatar {avatar!r}; the group's cast must hold every speaker.")

    @property
    def enabled(self) -> tuple[str, ...]:
        """The avatars of the members who are not muted."""
        return tuple(avatar for avatar in self.members if avatar not in self.disabled)

    @property
    def present(self) -> tuple[GroupMember, ...]:
        """The members who are at hand, muted ones too."""
        loaded = self.loaded()
        return tuple(loaded[avatar] for avatar in self.members if avatar in loaded)

    @property
    def macro_group(self) -> GroupNames:
        """The group as macros see it: names alone."""
        present = self.present
        return GroupNames(
            members=tuple(member.name for member in present),
            muted=frozenset(member.name for member in present if member.avatar in self.disabled),
        )


def read_group(
    source: JsonObject,
    cast: Sequence[GroupMember],
    *,
    chat_metadata: JsonObject | None = None,
    report: ReportBuilder | None = None,
) -> StoryGroup:
    """Read one of SillyTavern's group files; what the chat itself overrides is in `chat_metadata`."""
    report = ReportBuilder() if report is None else report
    fields = LooseObject(source, report)
    chat = LooseObject(chat_metadata or {}, report, "chat_metadata")
    members = fields.texts("members")
    if len(members) > MAX_MEMBERS:
        report.broken("members", f"only the first {MAX_MEMBERS:,} of {len(members):,} members are read")
    return StoryGroup(
        cast=tuple(cast),
        members=members[:MAX_MEMBERS],
        disabled=frozenset(fields.texts("disabled_members")),
        activation_strategy=_strategy(fields),
        generation_mode=_card_mode(fields.raw("generation_mode")),
        allow_self_responses=fields.flag("allow_self_responses"),
        join_prefix=fields.text("generation_mode_join_prefix"),
        join_suffix=fields.text("generation_mode_join_suffix"),
        scenario_override=chat.text("scenario"),
        mes_example_override=chat.text("mes_example"),
    )


def read_talkativeness(source: JsonObject) -> float:
    """What `talkativeness` in these fields counts as: a half when it is missing or no number, zero for null."""
    number = _number(source["talkativeness"]) if "talkativeness" in source else math.nan
    if math.isnan(number):
        return DEFAULT_TALKATIVENESS
    # A roll is below one, so an endless talkativeness says no more than one does, and can be stored.
    return math.copysign(1.0, number) if math.isinf(number) else number


def _strategy(fields: LooseObject) -> GroupStrategy | None:
    number = _number(fields.raw("activation_strategy"))
    strategy = next((strategy for strategy in GroupStrategy if strategy == number), None)
    if strategy is None:
        fields.report.broken(fields.at("activation_strategy"), "unknown strategy; only forced members speak")
    return strategy


def _number(value: Json) -> float:
    return math.nan if isinstance(value, list) else to_number(value)


def _card_mode(value: Json) -> CardMode:
    # SillyTavern asks whether there is a mode at all, and whether it is exactly 2.
    if not value:
        return CardMode.SWAP
    return CardMode.APPEND_DISABLED if value == CardMode.APPEND_DISABLED else CardMode.APPEND
