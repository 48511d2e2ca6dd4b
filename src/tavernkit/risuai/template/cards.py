"""What the cards of a prompt template say."""

from __future__ import annotations

from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import filled
from tavernkit.prompt.sources import FromPreset
from tavernkit.prompt.tracing import first_source, realigned
from tavernkit.risuai.chat_ml import parse_chat_ml
from tavernkit.risuai.lorebook.decorators import is_known, put_in
from tavernkit.risuai.settings import PromptCard
from tavernkit.risuai.template.line import Line
from tavernkit.risuai.workbench import Workbench
from tavernkit.text.js_strings import replace_all

KNOWN_CARDS = (
    "plain",
    "jailbreak",
    "cot",
    "chatML",
    "persona",
    "description",
    "authornote",
    "lorebook",
    "postEverything",
    "memory",
    "chat",
    "cache",
)
ROLES = {"system": "system", "user": "user", "bot": "assistant"}
PARTS = {"persona": "personaPrompt", "description": "description", "authornote": "authorNote"}
ORIGINAL = "{{original}}"
OWN_IMAGE_INSTRUCTION = "{{//@customimageinstruction}}"
IMAGE_INSTRUCTION = """
<Image Tag Instruction>Insert HTML image tags between paragraphs based on context.
Set src as keywords from the list below that matches current character, outfit, situation sentiment and etc.
print as many different images as possible. Use only available keywords.
if there are no matching keywords, try to put clostest matching image src.
try to put at least 1 image per output.
<keywords>{{join::{{chardisplayasset}}::,}}</keywords>
Example: <img src="{{ele::{{chardisplayasset}}::0}}">
<Image Tag Instruction>
"""
"""RisuAI's own words, which cards are written for."""


def card_lines(ctx: Context, bench: Workbench, card: PromptCard, place: int) -> list[Line]:
    """What one card adds to the prompt, but for those that show the chat or the memory, or mark a place.

    Lore and what stands behind everything are the very lines of their part: they may be shown, and changed, twice.
    """
    source = f"card:{place}:{card.type}"
    match card.type:
        case "persona" | "description" | "authornote":
            return _part(ctx, bench, card, source)
        case "lorebook":
            return bench.parts["lorebook"]
        case "postEverything":
            last = bench.settings.prompt.post_end_inner_format if bench.has_template else ""
            last = bench.marked(ctx, last, FromPreset(prompt="post_end_inner_format"))
            written = [bench.line(ctx, "system", last, source, slot=card.type, title=card.name)] if last else []
            return [*bench.parts["postEverything"], *written]
        case "jailbreak" if not bench.settings.jailbreak_on:
            return []
        case "cot" if not bench.settings.chain_of_thought:
            return []
        case "plain" | "jailbreak" | "cot":
            return [_plain(ctx, bench, card, source)]
        case "chatML":
            return _chat_ml(ctx, bench, card, source)
        case _:
            return []


def memory_lines(ctx: Context, bench: Workbench, card: PromptCard) -> list[Line]:
    """The memory inside the format of its card."""
    return [
        _formatted(line, bench.expand(ctx, card.inner_format), line.content) if card.inner_format else line.copy()
        for line in bench.memories
    ]


def _part(ctx: Context, bench: Workbench, card: PromptCard, source: str) -> list[Line]:
    lines: list[Line] = []
    for line in bench.parts[PARTS[card.type]]:
        if card.inner_format:
            format = bench.expand(ctx, bench.positions.fill(card.inner_format, card.type))
            slot = line.content or (card.default_text if card.type == "authornote" else "")
            lines.append(_formatted(line, format, slot))
        else:
            lines.append(line.copy())
    for line in lines:
        line.title = card.name
        line.source = source if line.source == line.slot else line.source
    return lines


def _formatted(line: Line, format: str, slot: str) -> Line:
    twin = line.copy()
    twin.content = put_in(format, "{{slot}}", slot)
    return twin


def _plain(ctx: Context, bench: Workbench, card: PromptCard, source: str) -> Line:
    location = card.kind if card.type == "plain" else card.type
    text = bench.positions.fill(card.text, location)
    if card.kind == "globalNote":
        own = bench.from_card(ctx, "replace_global_note")
        if own:
            text = _with_original(bench.positions.fill(own, location), text)
        if bench.character.lists_assets and OWN_IMAGE_INSTRUCTION not in card.text:
            text = text + bench.written(ctx, IMAGE_INSTRUCTION, "image instruction")
    text = bench.expand(ctx, text, role=card.role)
    slot = card.kind if card.type == "plain" and card.kind != "normal" else card.type
    return bench.line(ctx, ROLES.get(card.role, card.role), text, source, slot=slot, title=card.name)


def _with_original(text: str, original: str) -> str:
    if "$" not in original and (is_known(text) or is_known(original)):
        return filled(text, ORIGINAL, original)
    if text.count(ORIGINAL) == 1:
        return put_in(text, ORIGINAL, original)
    return realigned(text, replace_all(text, ORIGINAL, original), first_source(original))


def _chat_ml(ctx: Context, bench: Workbench, card: PromptCard, source: str) -> list[Line]:
    return [
        bench.line(
            ctx,
            message.role,
            bench.expand(ctx, message.content),
            source,
            slot=card.type,
            title=card.name,
            thoughts=message.thoughts,
        )
        for message in parse_chat_ml(card.text) or ()
    ]
