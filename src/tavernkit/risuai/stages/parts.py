"""The fixed texts of the prompt: main prompt, jailbreak, notes, description and persona."""

from __future__ import annotations

import re

from tavernkit.prompt.context import Context
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.template.line import Line
from tavernkit.risuai.workbench import Workbench
from tavernkit.text.js_strings import js_trim, replace_all

THINK_FIRST = (
    "<instruction> - before respond everything, Think step by step as a ai assistant how would you respond inside "
    "<Thoughts> xml tag. this must be less than 5 paragraphs.</instruction>"
)
"""RisuAI's own instruction; a prompt that is to be the same has to say it in the same words."""

_ROLE = re.compile(r"@@@?(user|assistant|system)\n")


def run_variables(ctx: Context) -> None:
    """Expand the macros of every message, with those that set variables; only here they have an effect."""
    bench = ctx.platform(Workbench)
    messages = bench.scene.chat.messages
    for place, message in enumerate(messages):
        # One after the other, as a message can look at those before it.
        text = bench.expand(ctx, message.data, runs_variables=True, quietly=True)
        if text != message.data:
            messages[place] = message.with_(data=text)


def parts(ctx: Context) -> None:
    """Expand what the settings, the chat and the character say, in RisuAI's order: macros may draw numbers."""
    bench = ctx.platform(Workbench)
    settings = bench.settings
    if bench.cards is None and not bench.character.is_utility:
        _legacy_prompts(ctx, bench)
    note = bench.scene.chat.note or default_note(settings)
    if note:
        bench.parts["authorNote"].append(bench.line(ctx, "system", bench.expand(ctx, note), "authornote"))
    if settings.chain_of_thought and not (bench.has_template and settings.prompt.custom_chain_of_thought):
        bench.parts["postEverything"].append(bench.line(ctx, "system", THINK_FIRST, "cot"))
    bench.parts["description"].append(
        bench.line(ctx, "system", _description(ctx, bench), "description", group="character")
    )


def default_note(settings: RisuSettings) -> str:
    """What the first card for the author's note has for chats without one."""
    notes = (card for card in settings.template or () if card.type == "authornote")
    return next((card.default_text for card in notes), "")


def _legacy_prompts(ctx: Context, bench: Workbench) -> None:
    settings, character = bench.settings, bench.character
    main = replace_all(character.system_prompt, "{{original}}", settings.main_prompt) or settings.main_prompt
    if settings.additional_prompt and settings.preprocesses_prompt:
        main += f"\n{settings.additional_prompt}"
    bench.parts["main"] += _by_role(ctx, bench, bench.expand(ctx, main), "main")
    if settings.jailbreak_on:
        bench.parts["jailbreak"] += _by_role(ctx, bench, bench.expand(ctx, settings.jailbreak), "jailbreak")
    note = replace_all(character.replace_global_note, "{{original}}", settings.global_note) or settings.global_note
    bench.parts["globalNote"] += _by_role(ctx, bench, bench.expand(ctx, note), "globalNote")


def _by_role(ctx: Context, bench: Workbench, text: str, source: str) -> list[Line]:
    """A text in which `@@user` and its like, each on its own line, change who speaks."""
    pieces = _ROLE.split(text if text.startswith("@@") else f"@@system\n{text}")
    return [
        bench.line(ctx, role, js_trim(content), source)
        for role, content in zip(pieces[1::2], pieces[2::2], strict=True)
    ]


def _description(ctx: Context, bench: Workbench) -> str:
    character, settings = bench.character, bench.settings
    prefix = settings.description_prefix if settings.preprocesses_prompt else ""
    text = bench.expand(ctx, prefix + character.description)
    if character.personality:
        text += bench.expand(ctx, "\n\nDescription of {{char}}: " + character.personality)
    if character.scenario:
        text += bench.expand(ctx, "\n\nCircumstances and context of the dialogue: " + character.scenario)
    return text
