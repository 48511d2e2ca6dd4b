"""The prompts of a chat preset, and their orders.

As in SillyTavern, the order of prompts that counts is the one for all characters, and without one the default order. A
prompt that is not in it is kept, but not sent. Orders of single characters are kept and can be changed; no prompt is
built by them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.chat_completion.entries import DEFAULT_ORDER, known_prompts, prompt_order
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, PromptOrder, PromptToggle
from tavernkit.sillytavern.presets.fields import decode, encode
from tavernkit.values import Json, JsonObject

EVERY_CHARACTER = "100001"
MAX_PROMPTS = 1000
MAX_ORDERS = 1000
LONGEST_NUMBER = 15
"""More digits are a name, as JavaScript would change the number."""


def order_of(preset: ChatPreset, character_id: str = EVERY_CHARACTER) -> Sequence[PromptToggle]:
    """The order for all characters, or for one; nobody has an order that is not there."""
    if character_id == EVERY_CHARACTER:
        return prompt_order(preset)
    found = next((order for order in preset.prompt_order if str(order.character_id) == character_id), None)
    return existing(found, _("prompt order")).order


def other_orders(preset: ChatPreset) -> list[str]:
    """The characters that have an order of their own."""
    names = dict.fromkeys(str(order.character_id) for order in preset.prompt_order)
    return [name for name in names if name != EVERY_CHARACTER]


def listed_prompts(preset: ChatPreset, character_id: str = EVERY_CHARACTER) -> list[tuple[PresetPrompt, bool | None]]:
    """The prompts that are in the order, in it, each with whether it is sent; then the others, with None."""
    prompts = {prompt.identifier: prompt for prompt in reversed(preset.prompts)}
    places: dict[str, bool] = {}
    for toggle in order_of(preset, character_id):
        places.setdefault(toggle.identifier, toggle.enabled)
    ordered = [(prompts[identifier], enabled) for identifier, enabled in places.items() if identifier in prompts]
    placed = {prompt.identifier for prompt, _enabled in ordered}
    others = [prompt for prompt in preset.prompts if prompt.identifier not in placed]
    return [*ordered, *((prompt, None) for prompt in others)]


def found_prompt(preset: ChatPreset, identifier: str) -> PresetPrompt:
    """The prompt of that identifier; of two that share one, the first."""
    return existing(_find(preset, identifier), _("prompt"))


def built_in_text(identifier: str) -> str | None:
    """The text that one of SillyTavern's own prompts has in a preset without it; None for any other prompt."""
    usual = known_prompts(ChatPreset()).get(identifier)
    return None if usual is None or usual.marker else usual.content


def new_prompts() -> tuple[tuple[PresetPrompt, ...], tuple[PromptOrder, ...]]:
    """The prompts of a new preset and their order."""
    usual = known_prompts(ChatPreset())
    prompts = tuple(usual[toggle.identifier].with_(name=_NAMES[toggle.identifier]) for toggle in DEFAULT_ORDER)
    return prompts, (PromptOrder(order=tuple(DEFAULT_ORDER)),)


_NAMES = {
    "main": "Main prompt",
    "worldInfoBefore": "Lore before character",
    "personaDescription": "Persona",
    "charDescription": "Character description",
    "charPersonality": "Character personality",
    "scenario": "Scenario",
    "enhanceDefinitions": "Enhance definitions",
    "nsfw": "Auxiliary prompt",
    "worldInfoAfter": "Lore after character",
    "dialogueExamples": "Example dialogues",
    "chatHistory": "Chat history",
    "jailbreak": "Post-history instructions",
}
"""What SillyTavern's own prompts are called in the file of a new preset."""


def with_prompt(preset: ChatPreset, prompt: PresetPrompt, *, position: int | None, enabled: bool) -> ChatPreset:
    """Put a new prompt into the order, at the end unless a place is named."""
    if _find(preset, prompt.identifier) is not None:
        raise Refused(
            "taken",
            _(
                "A prompt with the identifier “{identifier}” already exists. Choose another one.",
                identifier=prompt.identifier,
            ),
        )
    if len(preset.prompts) >= MAX_PROMPTS:
        raise Refused("conflict", _("The preset is full. The limit is {limit} prompts.", limit=MAX_PROMPTS))
    order = list(prompt_order(preset))
    order.insert(
        len(order) if position is None else position, PromptToggle(identifier=prompt.identifier, enabled=enabled)
    )
    return with_order(preset.with_(prompts=(*preset.prompts, prompt)), order)


def with_changed_prompt(
    preset: ChatPreset,
    identifier: str,
    fields: dict[str, Json],
    *,
    enabled: bool | None,
    character_id: str = EVERY_CHARACTER,
) -> ChatPreset:
    """Change fields of a prompt, and whether it is sent; one that is not in the order joins it at the end."""
    found = found_prompt(preset, identifier)
    if found.marker and "content" in fields:
        raise Refused(
            "invalid", _("This prompt is a marker. Its text is filled in automatically and cannot be edited.")
        )
    if fields:
        changed = msgspec.structs.replace(found, **fields)
        preset = preset.with_(prompts=tuple(changed if prompt is found else prompt for prompt in preset.prompts))
    if enabled is None:
        return preset
    order = list(order_of(preset, character_id))
    if all(toggle.identifier != identifier for toggle in order):
        order.append(PromptToggle(identifier=identifier))
    toggled = [toggle.with_(enabled=enabled) if toggle.identifier == identifier else toggle for toggle in order]
    return with_order(preset, toggled, character_id)


def with_written_prompt(
    preset: ChatPreset,
    identifier: str,
    changed: JsonObject,
    removed: Sequence[str] = (),
    *,
    is_sent: bool | None,
    character_id: str = EVERY_CHARACTER,
) -> ChatPreset:
    """Change fields of a prompt as its file has them; `is_sent` is None for one that is to be in no place."""
    found, report = found_prompt(preset, identifier), ReportBuilder()
    fields = {key: value for key, value in {**encode(found), **changed}.items() if key not in removed}
    written = decode(PresetPrompt, fields, report)
    for note in report.build("prompt").ignored:
        if note.path in changed:
            raise Refused(
                "invalid", _("The field {field} is not valid: {reason}.", field=note.path, reason=note.message)
            )
    preset = preset.with_(prompts=tuple(written if prompt is found else prompt for prompt in preset.prompts))
    if is_sent is not None:
        return with_changed_prompt(preset, identifier, {}, enabled=is_sent, character_id=character_id)
    order = order_of(preset, character_id)
    kept = [toggle for toggle in order if toggle.identifier != identifier]
    return preset if len(kept) == len(order) else with_order(preset, kept, character_id)


def with_built_in_text(preset: ChatPreset, identifier: str) -> ChatPreset:
    """Give one of SillyTavern's own prompts the text of a new preset."""
    found_prompt(preset, identifier)
    text = built_in_text(identifier)
    if text is None:
        raise Refused("invalid", _("Only built-in prompts have a text that can be restored."))
    return with_changed_prompt(preset, identifier, {"content": text}, enabled=None)


def without_prompt(preset: ChatPreset, identifier: str, character_id: str = EVERY_CHARACTER) -> ChatPreset:
    """Take a prompt out of the order, and out of the preset if it is not one of SillyTavern's own."""
    found = found_prompt(preset, identifier)
    if character_id != EVERY_CHARACTER or found.system_prompt or found.marker:
        order = [toggle for toggle in order_of(preset, character_id) if toggle.identifier != identifier]
        return with_order(preset, order, character_id)
    preset = preset.with_(prompts=tuple(prompt for prompt in preset.prompts if prompt is not found))
    for character in (EVERY_CHARACTER, *other_orders(preset)):
        order = [toggle for toggle in order_of(preset, character) if toggle.identifier != identifier]
        preset = with_order(preset, order, character)
    return preset


def with_ordered_prompts(
    preset: ChatPreset, order: Sequence[tuple[str, bool]], character_id: str = EVERY_CHARACTER
) -> ChatPreset:
    """The new order, with who is sent; prompts that are not named leave it. A character without one gets one."""
    named = [identifier for identifier, _enabled in order]
    known = {prompt.identifier for prompt in preset.prompts}
    if len(set(named)) != len(named) or not known.issuperset(named):
        raise Refused("invalid", _("The order names a prompt twice, or one that is not in the preset."))
    is_new = character_id != EVERY_CHARACTER and character_id not in other_orders(preset)
    if is_new and len(preset.prompt_order) >= MAX_ORDERS:
        raise Refused("conflict", _("The preset is full. The limit is {limit} orders.", limit=MAX_ORDERS))
    before = {} if is_new else {toggle.identifier: toggle for toggle in order_of(preset, character_id)}
    return with_order(
        preset,
        [
            before.get(identifier, PromptToggle(identifier=identifier)).with_(enabled=enabled)
            for identifier, enabled in order
        ],
        character_id,
    )


def without_order(preset: ChatPreset, character_id: str) -> ChatPreset:
    """Delete the order of one character; for all characters, the default order counts again."""
    kept = tuple(order for order in preset.prompt_order if str(order.character_id) != character_id)
    if len(kept) == len(preset.prompt_order):
        existing(None, _("prompt order"))
    return preset.with_(prompt_order=kept)


def with_order(preset: ChatPreset, toggles: Sequence[PromptToggle], character_id: str = EVERY_CHARACTER) -> ChatPreset:
    """Put a list of toggles in the place of a character's order, or beside the others."""
    order = tuple(toggles)
    if all(str(known.character_id) != character_id for known in preset.prompt_order):
        is_number = character_id.isascii() and character_id.isdigit() and len(character_id) <= LONGEST_NUMBER
        named = int(character_id) if is_number else character_id
        return preset.with_(prompt_order=(*preset.prompt_order, PromptOrder(character_id=named, order=order)))
    return preset.with_(
        prompt_order=tuple(
            known.with_(order=order) if str(known.character_id) == character_id else known
            for known in preset.prompt_order
        )
    )


def _find(preset: ChatPreset, identifier: str) -> PresetPrompt | None:
    return next((prompt for prompt in preset.prompts if prompt.identifier == identifier), None)
