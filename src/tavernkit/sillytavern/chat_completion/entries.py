"""The prompt manager: which prompts take part in this generation, in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.sources import FromPreset
from tavernkit.prompt.tracing import traced
from tavernkit.sillytavern.chat_completion.request import warn_of_unsupported
from tavernkit.sillytavern.chat_completion.scene import ChatScene, PromptEntry
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, PromptToggle
from tavernkit.sillytavern.scene import may_have_macros
from tavernkit.sillytavern.stages.layout import END, note_move

_EXPANDED_LATE = ("history", "injection", "new_chat")

_OUTLET = re.compile(r"\{\{\s*outlet\b", re.IGNORECASE)

EVERY_CHARACTER = "100001"
IN_CHAT = 1

DEFAULT_ORDER = tuple(
    PromptToggle(identifier=identifier, enabled=identifier != "enhanceDefinitions")
    for identifier in (
        *("main", "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario"),
        *("enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples", "chatHistory", "jailbreak"),
    )
)

_OWN_PROMPTS = {
    "main": "Write the next reply of {{char}} in this story between {{group}} and {{user}}.",
    "nsfw": "",
    "jailbreak": "",
    "enhanceDefinitions": (
        "If you know more about {{char}} than is said here, let it show in how {{char}} speaks and acts."
    ),
}
"""What a preset without these prompts gets, in words of our own; a preset that SillyTavern has written has them all."""

_USUAL_PROMPTS = {
    identifier: PresetPrompt(
        identifier=identifier,
        content=_OWN_PROMPTS.get(identifier, ""),
        system_prompt=True,
        marker=identifier not in _OWN_PROMPTS,
    )
    for identifier in (toggle.identifier for toggle in DEFAULT_ORDER)
}


def entries(ctx: Context) -> None:
    """Choose the prompts that are switched on and meant for this kind of generation, and expand them in their order."""
    scene = ctx.platform(ChatScene)
    warn_of_unsupported(ctx, scene.preset)
    order, prompts = prompt_order(scene.preset), known_prompts(scene.preset)
    scene.disabled = frozenset(toggle.identifier for toggle in order if not toggle.enabled)
    for toggle in order:
        prompt = prompts.get(toggle.identifier)
        if prompt is None:
            continue
        triggers = prompt.injection_trigger
        if toggle.enabled and (not triggers or ctx.generation_type in triggers):
            scene.entries.append(_entry(ctx, scene, prompt))
        elif toggle.identifier == "main":
            # Notes and extensions stand beside the main prompt, so its place stays even when it is empty.
            scene.entries.append(_entry(ctx, scene, prompt.with_(content="")))
    ctx.stat("entries", len(scene.entries))


def prompt_order(preset: ChatPreset) -> Sequence[PromptToggle]:
    """The order for all characters; without one SillyTavern uses its default order, whatever other lists there are."""
    lists = (order.order for order in preset.prompt_order if str(order.character_id) == EVERY_CHARACTER)
    return next(filter(None, lists), DEFAULT_ORDER)


def known_prompts(preset: ChatPreset) -> dict[str, PresetPrompt]:
    """The prompts by their identifiers: of two that share one the first, and ours for what the preset lacks."""
    return _USUAL_PROMPTS | {prompt.identifier: prompt for prompt in reversed(preset.prompts)}


def _entry(ctx: Context, scene: ChatScene, prompt: PresetPrompt) -> PromptEntry:
    content = prompt.content
    if scene.is_traced and not isinstance(content, TracedText):
        content = traced(content, FromPreset(prompt=prompt.identifier))
    in_chat, depth = prompt.injection_position == IN_CHAT, prompt.injection_depth
    if scene.story.is_stable and in_chat and depth > 0 and content:
        note_move(ctx, f"The prompt {prompt.name or prompt.identifier}", f"depth {depth}", END)
        depth = 0
    if _OUTLET.search(content):
        # Which lore it says is decided in every turn.
        scene.changing.add(prompt.identifier)
    return PromptEntry(
        identifier=prompt.identifier,
        content=scene.watched(prompt.identifier, lambda: scene.expand(content, place=f"prompt {prompt.identifier}")),
        role=prompt.role,
        in_chat=in_chat,
        depth=depth,
        order=prompt.injection_order,
        is_custom=not prompt.system_prompt,
        forbid_overrides=prompt.forbid_overrides,
    )


def macro_expansion(ctx: Context) -> None:
    """Expand the chat, the newest message first, as SillyTavern goes through it."""
    scene = ctx.platform(ChatScene)
    for place in range(len(ctx.blocks) - 1, -1, -1):
        block = ctx.blocks[place]
        if block.slot in _EXPANDED_LATE and may_have_macros(block.content):
            content = scene.expand(block.sourced_content, quietly=block.slot == "history")
            if content != block.content:
                ctx.blocks[place] = block.with_(content=content)
