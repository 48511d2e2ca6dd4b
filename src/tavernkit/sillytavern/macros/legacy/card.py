"""What the card and the persona say, with their own macros expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.examples import format_examples
from tavernkit.sillytavern.macros.legacy.expansion import LegacyExpansion
from tavernkit.text.js_strings import js_trim

ExpandText: TypeAlias = Callable[[str, Environment], str]

_LINE_BREAKS = re.compile("\n{2,}")


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
    expanded = {name: expand(js_trim(text), inside) for name, text in texts.items()}
    if settings.collapse_newlines:
        expanded = {name: _LINE_BREAKS.sub("\n", text) for name, text in expanded.items()}
    return {name: text.replace("\r", "") for name, text in expanded.items()}


def _text(name: str) -> Callable[[LegacyExpansion], str]:
    return lambda expansion: expansion.card[name]


def _examples(expansion: LegacyExpansion) -> str:
    inside = expansion.environment.for_card_text()
    # What stands around the examples may quote the card, but not the examples once more.
    around = inside.with_(expands_card=True, card=inside.card.with_(message_examples=""))
    return format_examples(expansion.card["mesExamplesRaw"], inside, lambda text: expansion.expand(text, around))


def _version(expansion: LegacyExpansion) -> str:
    return expansion.environment.card.version


CARD_MACROS: Mapping[str, Callable[[LegacyExpansion], str]] = {
    "charPrompt": _text("charPrompt"),
    "charJailbreak": _text("charInstruction"),
    "charInstruction": _text("charInstruction"),
    "description": _text("description"),
    "personality": _text("personality"),
    "scenario": _text("scenario"),
    "persona": _text("persona"),
    "mesExamples": _examples,
    "mesExamplesRaw": _text("mesExamplesRaw"),
    "charVersion": _version,
    "char_version": _version,
    "charDepthPrompt": _text("charDepthPrompt"),
    "creatorNotes": _text("creatorNotes"),
}
"""The card's macros in the order of their passes."""
