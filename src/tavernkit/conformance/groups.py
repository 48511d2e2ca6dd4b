"""Recorded groups: who was chosen to speak, and what the prompt said about the members."""

from __future__ import annotations

import itertools

from tavernkit.conformance.prompt_cases import read_character
from tavernkit.conformance.vectors import Case, Outcome
from tavernkit.sillytavern.errors import DepartedMemberError
from tavernkit.sillytavern.groups import (
    ExpandFor,
    GroupMember,
    JoinedCard,
    StoryGroup,
    activate,
    card_expander,
    group_depth_prompts,
    join_cards,
    read_group,
    read_talkativeness,
    speaker_card,
)
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.macros.environment import Environment, MacroSettings
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Json

_ERROR = "Deleted group member swiped"


def check(case: Case) -> Outcome:
    """What was recorded of a choice of speakers or of a joined card, and what ours is."""
    cast = tuple(_member(character) for character in case["characters"])
    group = read_group(case["group_def"], cast, chat_metadata=case.get("chat_metadata"))
    return case["expected"], _speakers(case, group) if case["kind"] == "activation" else _cards(case, group)


def _member(source: Case) -> GroupMember:
    talkativeness = read_talkativeness(source)
    return GroupMember(avatar=source["avatar"], character=read_character(source), talkativeness=talkativeness)


def _speakers(case: Case, group: StoryGroup) -> Json:
    numbers = itertools.cycle(case["math_random"])
    drawn: list[float] = []

    def random() -> float:
        drawn.append(next(numbers))
        return drawn[-1]

    forced = case.get("force_chid")
    try:
        activation = activate(
            group,
            chat=[_turn(index, line) for index, line in enumerate(case["chat"])],
            user_input=case["user_input"],
            generation_type=case["type"],
            random=random,
            by_auto_mode=case["by_auto_mode"],
            forced=None if forced is None else group.cast[forced].avatar,
        )
    except DepartedMemberError:
        return {"activated": [], "error": _ERROR}
    return {
        "activated": list(activation.speakers),
        "activation_text": activation.activation_text,
        "is_user_input": activation.is_user_input,
        "random_used": len(drawn),
    }


def _turn(index: int, line: Case) -> ChatTurn:
    return ChatTurn(
        index=index,
        text=line["mes"],
        name=line.get("name", ""),
        is_user=line.get("is_user", False),
        is_system=line.get("is_system", False),
        is_narrator=line.get("extra", {}).get("type") == "narrator",
        original_avatar=line.get("original_avatar"),
    )


def _cards(case: Case, group: StoryGroup) -> Json:
    speaker = group.cast[case["current_chid"]]
    environment = Environment(
        user_name=case["user"],
        character_name=speaker.name,
        group=group.macro_group,
        persona=case["persona"],
        settings=MacroSettings(collapse_newlines=case["collapse_newlines"]),
    )
    expand = card_expander(ParserMacros("1.15"), environment)
    joined = join_cards(group, speaker.avatar, expand=expand)
    return {
        "group_cards": None if joined is None else _fields(joined),
        "fields": {
            **_fields(speaker_card(group, speaker.avatar, expand=expand)),
            "system": _system_prompt(case, speaker, expand),
        },
        "depth_prompts": [
            {"text": prompt.text, "depth": prompt.depth, "role": prompt.role}
            for prompt in group_depth_prompts(group, speaker.avatar, expand=expand)
        ],
    }


def _fields(card: JoinedCard) -> dict[str, Json]:
    return {
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "mesExamples": card.mes_example,
    }


def _system_prompt(case: Case, speaker: GroupMember, expand: ExpandFor) -> str:
    """The main prompt of the chat or the card: never joined, whatever the group does."""
    if not case["default_settings"]["prefer_character_prompt"]:
        return ""
    return expand(js_trim(case["chat_metadata"].get("system_prompt") or speaker.character.system_prompt), speaker.name)
