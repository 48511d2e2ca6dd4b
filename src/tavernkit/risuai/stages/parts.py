"""The fixed texts of the prompt: main prompt, jailbreak, notes, description and persona."""

from __future__ import annotations

import re

from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import SEPARATOR
from tavernkit.prompt.sources import FromChat, FromPreset
from tavernkit.prompt.tracing import first_source, pieces_at, realigned
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.stages.tracing import keep_trail, traced_message
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
        text = bench.expand(ctx, traced_message(ctx, bench, message), runs_variables=True, quietly=True)
        keep_trail(ctx, bench, message, text)
        if text != message.data:
            messages[place] = message.with_(data=str(text))


def parts(ctx: Context) -> None:
    """Expand what the settings, the chat and the character say, in RisuAI's order: macros may draw numbers."""
    bench = ctx.platform(Workbench)
    settings = bench.settings
    if bench.cards is None and not bench.character.is_utility:
        _legacy_prompts(ctx, bench)
    note = bench.marked(ctx, bench.scene.chat.note, FromChat(field="note")) or bench.marked(
        ctx, default_note(settings), FromPreset(prompt="authornote")
    )
    if note:
        bench.parts["authorNote"].append(bench.line(ctx, "system", bench.expand(ctx, note), "authornote"))
    if settings.chain_of_thought and not (bench.has_template and settings.prompt.custom_chain_of_thought):
        bench.parts["postEverything"].append(
            bench.line(ctx, "system", bench.written(ctx, THINK_FIRST, "chain of thought"), "cot")
        )
    bench.parts["description"].append(
        bench.line(ctx, "system", _description(ctx, bench), "description", group="character")
    )


def default_note(settings: RisuSettings) -> str:
    """What the first card for the author's note has for chats without one."""
    notes = (card for card in settings.template or () if card.type == "authornote")
    return next((card.default_text for card in notes), "")


def _legacy_prompts(ctx: Context, bench: Workbench) -> None:
    settings = bench.settings
    main_prompt = bench.from_settings(ctx, "main_prompt")
    main = _with_original(bench.from_card(ctx, "system_prompt"), main_prompt) or main_prompt
    if settings.additional_prompt and settings.preprocesses_prompt:
        main = main + bench.written(ctx, "\n", SEPARATOR.what) + bench.from_settings(ctx, "additional_prompt")
    bench.parts["main"] += _by_role(ctx, bench, bench.expand(ctx, main), "main")
    if settings.jailbreak_on:
        bench.parts["jailbreak"] += _by_role(
            ctx, bench, bench.expand(ctx, bench.from_settings(ctx, "jailbreak")), "jailbreak"
        )
    global_note = bench.from_settings(ctx, "global_note")
    note = _with_original(bench.from_card(ctx, "replace_global_note"), global_note) or global_note
    bench.parts["globalNote"] += _by_role(ctx, bench, bench.expand(ctx, note), "globalNote")


def _with_original(text: str, original: str) -> str:
    return realigned(text, replace_all(text, "{{original}}", original), first_source(original))


def _by_role(ctx: Context, bench: Workbench, text: str, source: str) -> list[Line]:
    """A text in which `@@user` and its like, each on its own line, change who speaks."""
    marked = text if text.startswith("@@") else "@@system\n" + text
    roles = [found[1] for found in _ROLE.finditer(marked)]
    contents = pieces_at(_ROLE, marked)[1:]
    return [bench.line(ctx, role, js_trim(content), source) for role, content in zip(roles, contents, strict=True)]


def _description(ctx: Context, bench: Workbench) -> str:
    character, settings = bench.character, bench.settings
    prefix = settings.description_prefix if settings.preprocesses_prompt else ""
    prefix = bench.marked(ctx, prefix, FromPreset(prompt="description_prefix"))
    text = bench.expand(ctx, prefix + bench.from_card(ctx, "description"))
    if character.personality:
        heading = bench.written(ctx, "\n\nDescription of {{char}}: ", "heading")
        text = text + bench.expand(ctx, heading + bench.from_card(ctx, "personality"))
    if character.scenario:
        heading = bench.written(ctx, "\n\nCircumstances and context of the dialogue: ", "heading")
        text = text + bench.expand(ctx, heading + bench.from_card(ctx, "scenario"))
    return text
