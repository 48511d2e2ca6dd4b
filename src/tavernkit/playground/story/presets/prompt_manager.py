"""The prompts of a chat preset: which there are, which are sent, and in which order.

As in SillyTavern, the order that counts is the one for all characters, and without one the default order. A prompt
that is not in it is kept, but not sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.playground.base.refused import Refused, existing
from tavernkit.sillytavern.chat_completion.entries import prompt_order
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, PromptOrder, PromptToggle
from tavernkit.values import Json

EVERY_CHARACTER = 100001
MAX_PROMPTS = 1000


def listed_prompts(preset: ChatPreset) -> list[tuple[PresetPrompt, bool | None]]:
    """The prompts that are in the order, in it, each with whether it is sent; then the others, with None."""
    prompts = {prompt.identifier: prompt for prompt in preset.prompts}
    ordered = [
        (prompts[toggle.identifier], toggle.enabled) for toggle in prompt_order(preset) if toggle.identifier in prompts
    ]
    placed = {prompt.identifier for prompt, _ in ordered}
    return [*ordered, *((prompt, None) for prompt in preset.prompts if prompt.identifier not in placed)]


def add_prompt(preset: ChatPreset, prompt: PresetPrompt, *, position: int | None, enabled: bool) -> ChatPreset:
    """Put a new prompt into the order, at the end unless a place is named."""
    if _find(preset, prompt.identifier) is not None:
        raise Refused(
            code="taken", sentence=f"There is a prompt with the identifier {prompt.identifier!r}. Choose another one."
        )
    if len(preset.prompts) >= MAX_PROMPTS:
        raise Refused(code="conflict", sentence=f"The preset has {MAX_PROMPTS:,} prompts; no more fit into one.")
    order = list(prompt_order(preset))
    order.insert(
        len(order) if position is None else position, PromptToggle(identifier=prompt.identifier, enabled=enabled)
    )
    return _with_order(preset.with_(prompts=(*preset.prompts, prompt)), order)


def change_prompt(preset: ChatPreset, identifier: str, fields: dict[str, Json], *, enabled: bool | None) -> ChatPreset:
    """Change fields of a prompt, and whether it is sent; one that is not in the order joins it at the end."""
    found = existing(_find(preset, identifier), "prompt")
    if found.marker and "content" in fields:
        raise Refused(
            code="invalid",
            sentence="This prompt is a marker: what stands there is filled in, and has no text to write.",
        )
    if fields:
        changed = found.with_(**fields)
        preset = preset.with_(prompts=tuple(changed if prompt is found else prompt for prompt in preset.prompts))
    if enabled is None:
        return preset
    order = list(prompt_order(preset))
    if all(toggle.identifier != identifier for toggle in order):
        order.append(PromptToggle(identifier=identifier))
    toggled = [toggle.with_(enabled=enabled) if toggle.identifier == identifier else toggle for toggle in order]
    return _with_order(preset, toggled)


def remove_prompt(preset: ChatPreset, identifier: str) -> ChatPreset:
    """Take a prompt out of the order, and out of the preset if it is not one of SillyTavern's own."""
    found = existing(_find(preset, identifier), "prompt")
    order = [toggle for toggle in prompt_order(preset) if toggle.identifier != identifier]
    if not (found.system_prompt or found.marker):
        preset = preset.with_(prompts=tuple(prompt for prompt in preset.prompts if prompt is not found))
    return _with_order(preset, order)


def order_prompts(preset: ChatPreset, order: Sequence[tuple[str, bool]]) -> ChatPreset:
    """The new order, with who is sent; prompts that are not named leave it."""
    named = [identifier for identifier, _ in order]
    known = {prompt.identifier for prompt in preset.prompts}
    if len(set(named)) != len(named) or not known.issuperset(named):
        raise Refused(code="invalid", sentence="The order names a prompt twice, or one that the preset does not have.")
    before = {toggle.identifier: toggle for toggle in prompt_order(preset)}
    return _with_order(
        preset,
        [
            before.get(identifier, PromptToggle(identifier=identifier)).with_(enabled=enabled)
            for identifier, enabled in order
        ],
    )


def _find(preset: ChatPreset, identifier: str) -> PresetPrompt | None:
    return next((prompt for prompt in preset.prompts if prompt.identifier == identifier), None)


def _with_order(preset: ChatPreset, toggles: Sequence[PromptToggle]) -> ChatPreset:
    order = tuple(toggles)
    if not any(map(_is_for_all, preset.prompt_order)):
        new = PromptOrder(character_id=EVERY_CHARACTER, order=order)
        return preset.with_(prompt_order=(*preset.prompt_order, new))
    return preset.with_(
        prompt_order=tuple(known.with_(order=order) if _is_for_all(known) else known for known in preset.prompt_order)
    )


def _is_for_all(order: PromptOrder) -> bool:
    return str(order.character_id) == str(EVERY_CHARACTER)
