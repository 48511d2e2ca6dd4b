"""Making the chat fit: what is remembered of its oldest part, or how much of it is dropped."""

from __future__ import annotations

from tavernkit.errors import MissingInputError, TokenBudgetExceeded
from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import FromChat
from tavernkit.risuai.errors import MemoryStateError
from tavernkit.risuai.memory import Memory, MemoryMessage, MemoryRequest, RollingSummary
from tavernkit.risuai.stages.lore import lore_line
from tavernkit.risuai.template.line import HEADER, MEMORY, Line
from tavernkit.risuai.workbench import Workbench

MEMORY_TAGS = ("<Previous Conversation>", "</Previous Conversation>")
TOO_LARGE = (
    "The last message alone does not fit beside the prompts and the reply: shorten them, or raise the context size."
)


def memory(ctx: Context) -> None:
    """Sum up or drop the beginning of the chat until the prompt should fit."""
    bench = ctx.platform(Workbench)
    bench.tokens += bench.costs(lore_line(ctx, bench, lore) for lore in bench.depth_lore)
    remembering = _memory(bench)
    if remembering is not None:
        _recall(ctx, bench, remembering)
    else:
        _drop_oldest(ctx, bench)
    if bench.cards is None:
        bench.parts["lastChat"] += bench.chats[-1:]
        del bench.chats[-1:]
    _mark(ctx, bench)


def _memory(bench: Workbench) -> Memory | None:
    if bench.story.memory is not None:
        return bench.story.memory
    settings = bench.settings
    is_on = bench.character.uses_memory and settings.memory_model not in ("", "none")
    return RollingSummary(keeps_punctuation=not settings.memory_without_punctuation) if is_on else None


def _recall(ctx: Context, bench: Workbench, remembering: Memory) -> None:
    scene = bench.scene
    request = MemoryRequest(
        messages=[_remembered(bench, line) for line in bench.chats],
        tokens=bench.tokens,
        budget=bench.settings.max_context,
        state=scene.chat.memory,
        count=scene.count_tokens,
    )
    try:
        recollection = remembering.recall(request)
    except (MemoryStateError, MissingInputError, TokenBudgetExceeded) as error:
        ctx.fail(error)
    if recollection is None:
        return
    scene.chat.memory = recollection.state
    bench.summed_up = bench.chats[: recollection.covered]
    for line in bench.summed_up:
        line.left_out = "summed_up"
    text = bench.marked(ctx, recollection.text, FromChat(field="memory"))
    told = bench.line(ctx, "system", text, "memory", memo=MEMORY, group="memory")
    bench.chats = [told, *bench.chats[recollection.covered :]]


def _remembered(bench: Workbench, line: Line) -> MemoryMessage:
    return MemoryMessage(
        speaker=bench.character.name if line.role == "assistant" else bench.scene.user_name,
        text=str(line.content),
        tokens=bench.cost(line),
        id=line.memo if line.slot == "history" else None,
        opens_chat=line.memo == HEADER,
    )


def _drop_oldest(ctx: Context, bench: Workbench) -> None:
    """Drop lines from the beginning of the chat; the last one has to stay."""
    limit = bench.settings.max_context
    oldest = (line for line in bench.chats[:-1] if not ctx.must_keep(line.source))
    while bench.tokens > limit:
        line = next(oldest, None)
        if line is None:
            ctx.fail(TokenBudgetExceeded(budget=limit, actual=bench.tokens, advice=TOO_LARGE))
        bench.tokens -= bench.cost(line)
        line.left_out = "oldest"
        line.removable = True
        bench.left_out.append(line)
    bench.chats = [line for line in bench.chats if line.left_out is None]


def _mark(ctx: Context, bench: Workbench) -> None:
    """Say what may be removed later, and take the memory to the card that shows it, if there is one."""
    has_card = any(card.type == "memory" for card in bench.cards or ())
    kept: list[Line] = []
    for line in bench.chats:
        if line.memo != MEMORY:
            line.removable = not ctx.must_keep(line.source)
        elif has_card:
            bench.memories.append(line)
            continue
        else:
            start, end = (bench.written(ctx, tag, "memory") for tag in MEMORY_TAGS)
            line.content = start + line.content + end
        if line.says_something:
            kept.append(line)
    bench.parts["chats"] = kept
