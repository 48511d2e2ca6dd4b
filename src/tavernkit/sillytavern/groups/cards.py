"""What the prompt says about the characters of a group: the speaker's card alone, or the members' cards joined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from tavernkit.macros.engine import MacroEngine
from tavernkit.prompt.parts import SEPARATOR, joined
from tavernkit.prompt.sources import FromTemplate
from tavernkit.prompt.tracing import beside, substituted
from tavernkit.sillytavern.groups.group import CardMode, DepthPrompt, GroupMember, StoryGroup
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Value

ExpandFor: TypeAlias = Callable[[str, str], str]
"""Takes a text of a card and the name that `{{char}}` stands for in it; gives the text with its macros expanded."""

_Field: TypeAlias = Literal["description", "personality", "scenario", "mes_example"]
_TITLES: dict[_Field, str] = {
    "description": "Description",
    "personality": "Personality",
    "scenario": "Scenario",
    "mes_example": "Example Messages",
}
_FIELD_NAME = re.compile("<FIELDNAME>", re.IGNORECASE | re.ASCII)
_START = "<START>"
FIELD_NAME = FromTemplate(what="group.field name")


class JoinedCard(Value, frozen=True, kw_only=True):
    """The four texts of a card that a group may join, with their macros expanded."""

    description: str = ""
    personality: str = ""
    scenario: str = ""
    mes_example: str = ""


def card_expander(macros: MacroEngine, environment: Environment) -> ExpandFor:
    """Expand texts as SillyTavern does with those of a card: the card's own macros are empty in them."""
    inside = environment.for_card_text()

    def expand(text: str, name: str) -> str:
        return inside.tidied(macros.expand(text, inside.with_(character_name=name)))

    return expand


def join_cards(group: StoryGroup, speaker: str, *, expand: ExpandFor) -> JoinedCard | None:
    """The cards of the members as one; None where the group does not join them.

    A scenario or examples that the chat overrides are not joined at all. Raises UnknownMemberError when the speaker is
    not at hand.
    """
    name = group.find(speaker).name
    if group.generation_mode is CardMode.SWAP or not group.members:
        return None
    members = tuple(_members_shown(group, speaker, with_muted=group.generation_mode is CardMode.APPEND_DISABLED))

    def shown(field: _Field, override: str = "") -> str:
        replaced = _expanded(js_trim(override), name, expand)
        return replaced or joined("\n", filter(None, (_wrapped(group, member, field, expand) for member in members)))

    return JoinedCard(
        description=shown("description"),
        personality=shown("personality"),
        scenario=shown("scenario", group.scenario_override),
        mes_example=shown("mes_example", group.mes_example_override),
    )


def speaker_card(group: StoryGroup, speaker: str, *, expand: ExpandFor) -> JoinedCard:
    """The card that the prompt shows while this member speaks: the joined one, or the speaker's own.

    Here an override of blanks counts: it blanks the field.
    """
    together = join_cards(group, speaker, expand=expand)
    if together is not None:
        return together
    own = group.find(speaker)

    def text(written: str) -> str:
        return _expanded(js_trim(written), own.name, expand)

    return JoinedCard(
        description=text(own.character.description),
        personality=text(own.character.personality),
        scenario=text(group.scenario_override or own.character.scenario),
        mes_example=text(group.mes_example_override or own.character.mes_example),
    )


def group_depth_prompts(group: StoryGroup, speaker: str, *, expand: ExpandFor) -> tuple[DepthPrompt, ...]:
    """The members' notes for places in the chat, in the group's order; those of muted members only while they speak.

    Where this is empty, as it always is when cards are not joined, the prompt has the speaker's own note.
    """
    if group.generation_mode is CardMode.SWAP:
        return ()
    prompts: list[DepthPrompt] = []
    for member in _members_shown(group, speaker, with_muted=False):
        prompt = member.depth_prompt
        text = _expanded(js_trim(prompt.text), member.name, expand)
        if text:
            prompts.append(prompt.with_(text=text))
    return tuple(prompts)


def _members_shown(group: StoryGroup, speaker: str, *, with_muted: bool) -> Iterator[GroupMember]:
    for member in group.present:
        if with_muted or member.avatar == speaker or member.avatar not in group.disabled:
            yield member


def _wrapped(group: StoryGroup, member: GroupMember, field: _Field, expand: ExpandFor) -> str:
    """One member's text between the group's prefix and suffix; nothing when the card says nothing."""
    value = js_trim(getattr(member.character, field))
    if not value:
        return ""
    if field == "mes_example" and not value.startswith(_START):
        value = beside(f"{_START}\n", value, SEPARATOR) + value
    # In this order: macros may change variables and draw numbers.
    prefix, suffix, text = (
        _expanded(_titled(part, field), member.name, expand) for part in (group.join_prefix, group.join_suffix, value)
    )
    return joined("", (prefix, text, suffix))


def _titled(text: str, field: _Field) -> str:
    return substituted(_FIELD_NAME, lambda _: beside(_TITLES[field], text, FIELD_NAME), text)


def _expanded(text: str, name: str, expand: ExpandFor) -> str:
    return expand(text, name) if text else ""
