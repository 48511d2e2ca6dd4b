"""What a preset says and nobody can do: each problem with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from tavernkit.dialects.merging import MODES
from tavernkit.errors import RegexError
from tavernkit.prompt.context import GenerationType
from tavernkit.reading import Note
from tavernkit.sillytavern.building import activation_pattern
from tavernkit.sillytavern.chat_completion.compilation import has_place
from tavernkit.sillytavern.chat_completion.entries import EVERY_CHARACTER, IN_CHAT, known_prompts, prompt_order
from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.sillytavern.extension_prompts import ROLES
from tavernkit.sillytavern.macros import Environment, MacroProblem
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    PresetPrompt,
    SillyTavernPreset,
    SystemPrompt,
    TextPreset,
)
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.sillytavern.regex_scripts import embedded_scripts
from tavernkit.sillytavern.regex_scripts.applying import find_pattern
from tavernkit.sillytavern.scene import shared_macros
from tavernkit.sillytavern.story import Story
from tavernkit.sillytavern.text_completion.story_template import render_story
from tavernkit.values import JsonObject

IN_ORDER = 0
EXPANDED = (
    *("new_chat_prompt", "new_group_chat_prompt", "new_example_chat_prompt", "group_nudge_prompt"),
    *("impersonation_prompt", "scenario_format", "personality_format", "assistant_prefill"),
)
"""Texts of a chat preset that are expanded with no macros but SillyTavern's own."""


def preset_problems(preset: SillyTavernPreset) -> tuple[Note, ...]:
    """What of a preset has no effect, or another one than its author will have meant."""
    return tuple(Note(path=path, outcome="ignored", message=message) for path, message in _problems(preset))


def _problems(preset: PresetFile | None) -> Iterator[tuple[str, str]]:
    match preset:
        case ChatPreset():
            yield from _of_chat(preset)
        case TextPreset():
            yield from _of_budget("genamt", preset)
            yield from _of_scripts(preset.extensions)
        case Instruct(activation_regex=pattern) if pattern:
            try:
                activation_pattern(pattern)
            except RegexError as error:
                yield "activation_regex", str(error)
        case SystemPrompt(content=content, post_history=post_history):
            yield from (("content", message) for message in _of_macros(content))
            yield from (("post_history", message) for message in _of_macros(post_history))
        case ContextTemplate(story_string=story):
            try:
                render_story(story, {}, lambda _: "")
            except InvalidContextTemplateError as error:
                yield "story_string", str(error)
        case MasterExport():
            for name in ("instruct", "context", "sysprompt", "preset"):
                part: PresetFile | None = getattr(preset, name)
                yield from ((f"{name}.{path}", message) for path, message in _problems(part))


def _of_chat(preset: ChatPreset) -> Iterator[tuple[str, str]]:
    yield from _of_budget("openai_max_tokens", preset)
    mode = preset.custom_prompt_post_processing
    if mode and mode not in MODES:
        yield "custom_prompt_post_processing", f"{mode!r} is unknown; use one of {', '.join(MODES)}, or leave it empty"
    if preset.wi_format.strip() and "{0}" not in preset.wi_format:
        yield "wi_format", "it has no {0}, where the text of lore entries would stand, so none is sent"
    for field in EXPANDED:
        yield from ((field, message) for message in _of_macros(getattr(preset, field)))
    seen: set[str] = set()
    for place, prompt in enumerate(preset.prompts):
        for field, message in _of_prompt(prompt, is_again=prompt.identifier in seen):
            yield f"prompts[{place}].{field}", message
        seen.add(prompt.identifier)
    yield from _of_order(preset)
    yield from _of_scripts(preset.extensions)


def _of_prompt(prompt: PresetPrompt, *, is_again: bool) -> Iterator[tuple[str, str]]:
    if not prompt.identifier:
        yield "identifier", "the prompt has none, so no order can name it"
    elif is_again:
        yield "identifier", f"an earlier prompt is {prompt.identifier!r} too; this one is never sent"
    elif (
        prompt.content
        and prompt.injection_position == IN_ORDER
        and not has_place(prompt.identifier, is_custom=not prompt.system_prompt)
    ):
        yield "system_prompt", f"SillyTavern has no prompt {prompt.identifier!r} of its own; it is never sent"
    if prompt.role not in ROLES:
        yield "role", f"{prompt.role!r} is unknown; use one of {', '.join(ROLES)}"
    if prompt.injection_position == IN_CHAT and prompt.injection_depth < 0:
        yield "injection_depth", "a depth below 0 is no place in the chat; the prompt is not sent"
    yield from (("content", message) for message in _of_macros(prompt.content))
    unknown = [trigger for trigger in prompt.injection_trigger if trigger not in get_args(GenerationType)]
    if unknown:
        yield "injection_trigger", f"no type of generation is called {', '.join(map(repr, unknown))}"


def _of_macros(text: str) -> Iterator[str]:
    """What of the macros in a text SillyTavern cannot answer, each once."""
    found: dict[str, None] = {}

    def take(problem: MacroProblem) -> None:
        if problem.code in ("unknown_macro", "macro_syntax"):
            found[problem.message] = None

    shared_macros(Story().macros).expand(
        text, Environment(user_name="User", character_name="Character"), on_problem=take
    )
    yield from found


def _of_order(preset: ChatPreset) -> Iterator[tuple[str, str]]:
    order, known = prompt_order(preset), known_prompts(preset)
    place = next((place for place, kept in enumerate(preset.prompt_order) if kept.order is order), None)
    if place is None:
        if preset.prompt_order:
            yield "prompt_order", f"there is no list for all characters ({EVERY_CHARACTER}); the default order is used"
    else:
        for number, toggle in enumerate(order):
            if toggle.identifier not in known:
                path = f"prompt_order[{place}].order[{number}].identifier"
                yield path, f"there is no prompt {toggle.identifier!r}"
    if not any(toggle.enabled and toggle.identifier == "chatHistory" for toggle in order):
        yield "prompt_order", "chatHistory is not switched on, so the chat is not sent"
    listed = {toggle.identifier for toggle in order}
    for number, prompt in enumerate(preset.prompts):
        if prompt.identifier and prompt.identifier not in listed and not prompt.system_prompt:
            yield f"prompts[{number}]", f"{prompt.identifier!r} is not in the order, so it is never sent"


def _of_budget(field: str, preset: ChatPreset | TextPreset) -> Iterator[tuple[str, str]]:
    if preset.max_prompt_tokens == 0:
        window, reply = preset.context_window_tokens, preset.reserved_response_tokens
        yield field, f"the reply may take {reply:,} of {window:,} tokens, which leaves none for the prompt"


def _of_scripts(extensions: JsonObject) -> Iterator[tuple[str, str]]:
    for place, script in enumerate(embedded_scripts(extensions)):
        found = find_pattern(script.findRegex) if script.findRegex and not script.substituteRegex else None
        if isinstance(found, str):
            yield f"extensions.regex_scripts[{place}].findRegex", found
