"""Which cards of a preset's template are not in the prompt, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import UnsentPrompt
from tavernkit.prompt.unsent import made_of
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.risuai.st_convert import is_on
from tavernkit.risuai.template.cards import KNOWN_CARDS

if TYPE_CHECKING:
    from tavernkit.prompt.built import Built
    from tavernkit.risuai.replying import RisuResult

SWITCHED_OFF = "switched_off"
_SWITCHES: Mapping[str, str] = {"jailbreak": "the jailbreak", "cot": "the chain of thought"}
_TOGGLE = re.compile(r"\btoggle_(\w+)")

_PLACES = ("postEverything", "cache")
"""Cards that only mark a place."""
_UNFILLED: Mapping[str, str] = {
    "persona": "there is no persona",
    "description": "the character has no description",
    "authornote": "the chat has no note",
    "lorebook": "no lore entry was activated",
    "memory": "there is no memory of this chat",
    "chat": "there is no message in this part of the chat",
}
_WITHOUT_OWN_NAME: Mapping[str, tuple[str, ...]] = {
    "lorebook": ("lore:",),
    "chat": ("message:", "example:", "new_chat"),
    "memory": ("memory",),
}
"""How the sources of blocks begin that come from a card, but are not named after it."""


def unsent_prompts(settings: RisuSettings, built: Built[RisuResult]) -> tuple[UnsentPrompt, ...]:
    """The cards that made no block of the plan, in the template's order; a preset without a template has none.

    What trimming left out is a disabled block of the plan, and not among them; nor is what the settings switch off.
    """
    return tuple(card for card in off_cards(settings, built.plan) if card.reason != SWITCHED_OFF)


def off_cards(settings: RisuSettings, plan: Plan, toggles: Mapping[str, str] | None = None) -> tuple[UnsentPrompt, ...]:
    """All cards that made no block of the plan; those that are empty name the toggles that they ask for."""
    used = {name for block in plan.blocks for name in made_of(block)}
    off: list[UnsentPrompt] = []
    for place, card in enumerate(settings.template or ()):
        identifier = f"card:{place}:{card.type}"
        begins = (identifier, *_WITHOUT_OWN_NAME.get(card.type, ()))
        if card.type in _PLACES:
            continue
        if not is_on(card, settings):
            reason, sentence = SWITCHED_OFF, f"{_SWITCHES[card.type]} is switched off in the settings"
        elif any(name.startswith(begins) for name in used):
            continue
        else:
            reason, sentence = _why_not(card)
            if reason == "empty_after_macros":
                sentence += _asked_toggles(card, toggles or {})
        off.append(UnsentPrompt(identifier=identifier, name=card.name, reason=reason, sentence=sentence))
    return tuple(off)


def _asked_toggles(card: PromptCard, toggles: Mapping[str, str]) -> str:
    asked = dict.fromkeys(_TOGGLE.findall(card.text))
    told = ", ".join(f"{name} is {toggles.get(name) or 'off'}" for name in asked)
    return f"; of the toggles that it asks for, {told}" if told else ""


def _why_not(card: PromptCard) -> tuple[str, str]:
    if card.type not in KNOWN_CARDS:
        return "unknown_card", f"RisuAI has no card of the type {card.type!r}"
    if card.type in _UNFILLED:
        return "nothing_to_fill_in", _UNFILLED[card.type]
    if not card.text:
        return "empty", "it has no text"
    if card.type == "chatML":
        return "empty", "there is no message in it that is written as ChatML"
    return "empty_after_macros", "nothing is left of it once its macros are expanded"
