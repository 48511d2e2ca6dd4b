"""The values that a text calls by name alone: the original, the card, the people, and what a caller adds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tavernkit.sillytavern.macros.environment import DynamicMacro, Environment
from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, NamePass, Pass, any_case
from tavernkit.sillytavern.macros.legacy.scanning import find_exactly
from tavernkit.sillytavern.macros.packs import built_in_macros
from tavernkit.sillytavern.macros.packs.card import shaped_examples
from tavernkit.sillytavern.macros.variables import value_text
from tavernkit.text.js_strings import js_trim
from tavernkit.text.js_values import to_text

_Read: TypeAlias = Callable[[LegacyExpansion], str]

PARSER_MACROS = {definition.name: definition.handler for definition in built_in_macros("1.15")}
"""How the parser engine answers: where the two agree, there is nothing to say twice."""
ExpandText: TypeAlias = Callable[[str, Environment], str]


def expanded_card(environment: Environment, expand: ExpandText) -> Mapping[str, str]:
    """Every text of the card, expanded before anything else, whether it is asked for or not.

    That is how it is there, and it shows: a variable that a description sets can be read from any text.
    """
    if not environment.expands_card:
        return {}
    card, settings = environment.card, environment.settings
    texts = {
        "persona": environment.persona,
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "mesExamplesRaw": card.message_examples,
        "charPrompt": card.system_prompt if settings.prefer_character_prompt else "",
        "charInstruction": card.post_history_instructions if settings.prefer_character_jailbreak else "",
        "charDepthPrompt": card.depth_prompt,
        "creatorNotes": card.creator_notes,
    }
    inside = environment.for_card_text()
    return {name: environment.tidied(expand(js_trim(text), inside)) for name, text in texts.items()}


def _text(name: str) -> Callable[[LegacyExpansion], str]:
    return lambda expansion: expansion.card[name]


def _examples(expansion: LegacyExpansion) -> str:
    inside = expansion.environment.for_card_text()
    # What stands around the examples may quote the card, but not the examples once more.
    around = inside.with_(expands_card=True, card=inside.card.with_(message_examples=""))
    return shaped_examples(expansion.card["mesExamplesRaw"], inside, lambda text: expansion.expand(text, around))


_CARD: Mapping[str, _Read] = {
    "charPrompt": _text("charPrompt"),
    "charJailbreak": _text("charInstruction"),
    **{name: _text(name) for name in ("charInstruction", "description", "personality", "scenario", "persona")},
    "mesExamples": _examples,
    "mesExamplesRaw": _text("mesExamplesRaw"),
    "charVersion": PARSER_MACROS["charVersion"],
    "char_version": PARSER_MACROS["charVersion"],
    "charDepthPrompt": _text("charDepthPrompt"),
    "creatorNotes": _text("creatorNotes"),
}
"""The card's macros in the order of their passes."""


def _not_char(expansion: LegacyExpansion) -> str:
    """Everybody but the speaker: muted members too, and the user last."""
    environment = expansion.environment
    members = environment.group.members if environment.group else ()
    return ", ".join((*(name for name in members if name != environment.character_name), environment.user_name))


_PEOPLE: dict[str, _Read] = {
    "user": PARSER_MACROS["user"],
    "char": PARSER_MACROS["char"],
    "charIfNotGroup": PARSER_MACROS["group"],
    "group": PARSER_MACROS["group"],
    "groupNotMuted": PARSER_MACROS["groupNotMuted"],
    "notChar": _not_char,
    "model": PARSER_MACROS["model"],
}


def _call(name: str) -> str:
    return f"{{{{{name}}}}}"


_ORIGINAL = NamePass(_call("original"), value=lambda expansion: expansion.environment.original or "", once=True)
_CARD_PASSES = {name: NamePass(_call(name), value=read) for name, read in _CARD.items()}
_PEOPLE_PASSES = {name: NamePass(_call(name), value=read) for name, read in _PEOPLE.items()}
_STATE_PASSES = {name: NamePass(_call(name), value=PARSER_MACROS[name]) for name in ("lastGenerationType", "isMobile")}


def named_passes(environment: Environment) -> Iterator[Pass]:
    """The passes for one environment, in the order in which SillyTavern puts the names together.

    A dynamic macro of a known name takes that name's place, except for the names that are set after all others.
    """
    known: dict[str, Pass] = {
        **({} if environment.original is None else {"original": _ORIGINAL}),
        **(_CARD_PASSES if environment.expands_card else {}),
        **_PEOPLE_PASSES,
    }
    known.update({name: _dynamic_pass(name, value) for name, value in environment.dynamic_macros.items()})
    known.update(_STATE_PASSES)
    yield from known.values()


def _dynamic_pass(name: str, value: DynamicMacro) -> Pass:
    if not callable(value):
        return NamePass(_call(name), value=lambda _: value_text(value))
    opening = _call(name) if name.isascii() else ""
    return CallPass(opening, find_exactly(any_case(r"\{\{" + re.escape(name) + r"\}\}")), lambda _: value_text(value()))


def _person(name: str) -> _Read:
    """What a marker such as `<USER>` stands for, which a caller may have replaced."""

    def read(expansion: LegacyExpansion) -> str:
        dynamic = expansion.environment.dynamic_macros
        if name not in dynamic:
            return _PEOPLE[name](expansion)
        value = dynamic[name]
        return to_text(value() if callable(value) else value)

    return read


_MARKERS = {"USER": "user", "BOT": "char", "CHAR": "char", "CHARIFNOTGROUP": "group", "GROUP": "group"}
MARKER_PASSES = tuple(NamePass(f"<{marker}>", value=_person(name)) for marker, name in _MARKERS.items())
