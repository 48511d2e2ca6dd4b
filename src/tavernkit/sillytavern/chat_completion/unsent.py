"""Which of a preset's prompts are not in the prompt, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import UnsentPrompt
from tavernkit.prompt.unsent import made_of
from tavernkit.sillytavern.chat_completion.compilation import has_place
from tavernkit.sillytavern.chat_completion.entries import IN_CHAT, known_prompts, prompt_order
from tavernkit.sillytavern.extension_prompts import ROLES
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt

if TYPE_CHECKING:
    from tavernkit.prompt.built import Built
    from tavernkit.sillytavern.replying import SillyTavernResult

UnsentReason: TypeAlias = Literal[
    "switched_off",
    "not_in_order",
    "unknown_identifier",
    "trigger",
    "nothing_to_fill_in",
    "empty",
    "empty_after_macros",
    "role",
    "depth",
    "no_place",
]

BY_ORDER = ("switched_off", "not_in_order")
"""What is off because the preset says so."""

_SLOTS: Mapping[str, str] = {"new_chat": "chatHistory", "history": "chatHistory", "example": "dialogueExamples"}
_UNFILLED: Mapping[str, str] = {
    "worldInfoBefore": "no lore entry was activated for the place before the character",
    "worldInfoAfter": "no lore entry was activated for the place after the character",
    "charDescription": "the character has no description",
    "charPersonality": "the character has no personality",
    "scenario": "there is no scenario",
    "personaDescription": "there is no persona, or it stands elsewhere",
    "dialogueExamples": "the character has no examples, or the settings leave them out",
    "chatHistory": "there is no chat",
}


def unsent_prompts(preset: ChatPreset, built: Built[SillyTavernResult]) -> tuple[UnsentPrompt, ...]:
    """The prompts that the preset switches on and that made no block of the plan, in the preset's order.

    What trimming left out is a disabled block of the plan, and not among them.
    """
    off = off_prompts(preset, built.plan, built.result.generation_type)
    return tuple(prompt for prompt in off if prompt.reason not in BY_ORDER)


def off_prompts(preset: ChatPreset, plan: Plan, generation_type: str) -> tuple[UnsentPrompt, ...]:
    """All prompts of the preset that made no block of the plan: those of its order, then those that are not in it."""
    prompts, used, order = known_prompts(preset), frozenset(_used(plan)), prompt_order(preset)
    off: list[UnsentPrompt] = []
    for toggle in order:
        prompt = prompts.get(toggle.identifier)
        if not toggle.enabled:
            off.append(_off(toggle.identifier, prompt, "switched_off", "switched off in the order of the preset"))
        elif toggle.identifier not in used:
            off.append(_off(toggle.identifier, prompt, *_why_not(toggle.identifier, prompt, generation_type)))
    ordered = {toggle.identifier for toggle in order}
    off += [
        _off(prompt.identifier, prompt, "not_in_order", "not in the order of the preset")
        for prompt in {prompt.identifier: prompt for prompt in reversed(preset.prompts)}.values()
        if prompt.identifier not in ordered
    ]
    return tuple(off)


def _off(identifier: str, prompt: PresetPrompt | None, reason: UnsentReason, sentence: str) -> UnsentPrompt:
    return UnsentPrompt(identifier=identifier, name=prompt.name if prompt else "", reason=reason, sentence=sentence)


def _used(plan: Plan) -> Iterator[str]:
    """The identifiers of the prompts that blocks were made of."""
    for block in plan.blocks:
        yield from made_of(block)
        yield _SLOTS.get(block.slot or "", "")


def _why_not(identifier: str, prompt: PresetPrompt | None, generation_type: str) -> tuple[UnsentReason, str]:
    if prompt is None:
        return "unknown_identifier", "the preset has no prompt of this identifier"
    if prompt.injection_trigger and generation_type not in prompt.injection_trigger:
        return "trigger", f"it is for {', '.join(prompt.injection_trigger)}, and this is {generation_type}"
    if identifier in _UNFILLED:
        return "nothing_to_fill_in", _UNFILLED[identifier]
    if not prompt.content:
        return ("nothing_to_fill_in", "nothing fills this marker") if prompt.marker else ("empty", "it has no text")
    if prompt.injection_position == IN_CHAT:
        if prompt.role not in ROLES:
            return "role", f"a chat has no role {prompt.role!r}; use {', '.join(ROLES)}"
        if prompt.injection_depth < 0:
            return "depth", f"its depth is {prompt.injection_depth}; use 0 or more"
    elif not has_place(identifier, is_custom=not prompt.system_prompt):
        return "no_place", "it says that it is one of SillyTavern's own prompts, and none of those has this identifier"
    return "empty_after_macros", "nothing is left of it once its macros are expanded"
