"""The prompt in its order: by the cards of a template, or by the order of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import FromTrigger
from tavernkit.prompt.tracing import labelled
from tavernkit.risuai.chat_ml import START, parse_chat_ml
from tavernkit.risuai.settings import PromptCard
from tavernkit.risuai.stages.lore import lore_line
from tavernkit.risuai.template.cards import KNOWN_CARDS, card_lines, memory_lines
from tavernkit.risuai.template.forming import AUTOMATIC_CACHE_POINTS, FormedPrompt, joins_system_messages, spliced
from tavernkit.risuai.template.line import Line
from tavernkit.risuai.workbench import Workbench

EVERYTHING = -1000
"""A start that stands for the whole chat."""

SAFETY_TOKENS = 50
CONTINUE = "[Continue the last response]"
LAST_PART = "postEverything"


def card_costs(ctx: Context) -> None:
    """Count what stands around the chat, which says how much of the chat there is room for."""
    bench = ctx.platform(Workbench)
    bench.tokens += bench.settings.max_response + SAFETY_TOKENS
    if bench.cards is None:
        bench.tokens += sum(map(bench.costs, bench.parts.values()))
        return
    for place, card in enumerate(bench.cards):
        _check(ctx, card, place)
        bench.tokens += bench.costs(card_lines(ctx, bench, card, place))


def compilation(ctx: Context) -> None:
    """Put everything in its order, and make blocks of it; what the chat had no room for stays before it, disabled."""
    bench = ctx.platform(Workbench)
    _place_depth_lore(ctx, bench)
    _place_trigger_prompts(ctx, bench)
    if ctx.generation_type == "continue" and _continues(bench.settings.model):
        bench.parts[LAST_PART].append(bench.line(ctx, "system", bench.written(ctx, CONTINUE, "continue"), "continue"))
    formed = FormedPrompt(joins=joins_system_messages(bench.settings.model))
    if bench.cards is None:
        for name in (*bench.settings.order, LAST_PART):
            if name in bench.parts:
                formed.push(bench.parts[name])
            else:
                ctx.warn("unknown_part", f"The order of the prompt names {name!r}, which does not exist.", part=name)
    else:
        _by_cards(ctx, bench, formed)
    formed.trim_texts()
    note = bench.character.depth_prompt
    if note is not None and note.prompt:
        prompt = bench.marked(ctx, note.prompt, bench.of_card(ctx, "depth_prompt"))
        line = bench.line(ctx, "system", bench.expand(ctx, prompt), "depth_prompt")
        spliced(formed.lines, len(formed.lines) - note.depth, line)
    bench.formed_tokens = bench.costs(formed.lines)
    _make_blocks(ctx, bench, formed.lines)


def _by_cards(ctx: Context, bench: Workbench, formed: FormedPrompt) -> None:
    cards = bench.cards or ()
    has_cache_card = any(card.type == "cache" for card in cards)
    for place, card in enumerate(cards):
        match card.type:
            case "chat":
                formed.push(_chat(bench, card))
                if bench.settings.automatic_cache_point and not has_cache_card:
                    formed.mark_cache("user", AUTOMATIC_CACHE_POINTS)
            case "memory":
                formed.push(memory_lines(ctx, bench, card))
            case "cache":
                formed.mark_cache(card.role, card.depth)
            case _:
                formed.push(card_lines(ctx, bench, card, place))


def _chat(bench: Workbench, card: PromptCard) -> list[Line]:
    lines = bench.parts["chats"]
    chosen = lines[chat_range(card.range_start, card.range_end, len(lines))]
    if bench.has_template and bench.settings.prompt.send_chat_as_system and not card.chat_as_original_on_system:
        _systemize(chosen)
    return chosen


def _place_depth_lore(ctx: Context, bench: Workbench) -> None:
    """Put lore into the chat: `depth` counts from its beginning, `reverse_depth` from its end."""
    lines = bench.parts["chats"]
    for lore in bench.depth_lore:
        place = lore.depth if lore.pos == "depth" else len(lines) - lore.depth
        spliced(lines, place, lore_line(ctx, bench, lore))


def _place_trigger_prompts(ctx: Context, bench: Workbench) -> None:
    """What `start` triggers want to be said; a template has no place for what stands around the last message."""
    for location, text in bench.trigger_prompts.items():
        said = bench.marked(ctx, text, FromTrigger(place=location))
        line = bench.line(ctx, "system", said, f"trigger:{location}")
        match location:
            case "promptend":
                bench.parts[LAST_PART].append(line)
            case "historyend":
                bench.parts["lastChat"].append(line)
            case _:
                bench.parts["lastChat"].insert(0, line)


def _make_blocks(ctx: Context, bench: Workbench, lines: list[Line]) -> None:
    in_chat = {id(line) for line in bench.parts["chats"]} | {id(line) for line in bench.parts["lastChat"]}
    first = next((place for place, line in enumerate(lines) if id(line) in in_chat), 0)
    blocks = [bench.block(ctx, line, bundle) for line, bundle in zip(lines, _bundles(lines), strict=True)]
    summed_up = [bench.block(ctx, line).disable() for line in bench.summed_up]
    left_out = [bench.block(ctx, line).disable() for line in bench.left_out]
    bench.evicted = frozenset(block.id for block in left_out)
    ctx.blocks = [*blocks[:first], *summed_up, *left_out, *blocks[first:]]
    ctx.stat("blocks", len(ctx.blocks))


def _bundles(lines: list[Line]) -> Iterator[str | None]:
    """Names for the lines that stand in several places."""
    places: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        places.setdefault(id(line), []).append(place)
    for line in lines:
        first, *more = places[id(line)]
        yield f"line:{first}" if more else None


def _continues(model: str) -> bool:
    return model.startswith(("claude", "gpt", "openrouter", "reverse_proxy"))


def _check(ctx: Context, card: PromptCard, place: int) -> None:
    if card.type not in KNOWN_CARDS:
        ctx.warn("unknown_card", f"Card {place} of the template is of the unknown type {card.type!r}.", card=place)
    elif card.type == "chatML" and parse_chat_ml(card.text) is None:
        ctx.warn("not_chat_ml", f"Card {place} of the template is not ChatML: it must begin with {START}.", card=place)


def chat_range(start: int, end: int | None, length: int) -> slice:
    """The part of a chat from `start` up to `end`, None being its end; negative numbers count from the end."""
    if start == EVERYTHING:
        return slice(0, length)
    first, last = (max(0, length + place) if place < 0 else place for place in (start, length if end is None else end))
    return slice(first, max(first, last))


def _systemize(lines: Iterable[Line]) -> None:
    """Turn what user and character say into system messages that name the speaker."""
    for line in lines:
        if line.role not in ("user", "assistant"):
            continue
        if line.name is not None and line.name.startswith("example_"):
            line.content = labelled(line.name, line.content)
        elif not line.has_name_in_text:
            line.content = labelled(line.role, line.content)
        line.role = "system"
        line.memo = None
        line.name = None
