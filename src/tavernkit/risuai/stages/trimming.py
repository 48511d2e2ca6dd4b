"""The last look at the size: the finished prompt is counted again, and the oldest of the chat goes if it must."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.errors import TokenBudgetExceeded
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import report_trimming, settle
from tavernkit.prompt.trimming import TrimReport, eviction_record, without_room
from tavernkit.risuai.workbench import Workbench, left_out


def trimming(ctx: Context) -> None:
    """Fit the blocks into the window, and say what had to go, here and before the prompt was put together."""
    bench = ctx.platform(Workbench)
    costs = {block.id: bench.cost(block) for block in ctx.blocks}
    before = {block.id for block in ctx.blocks if block.id in bench.evicted}
    total = sum(costs[block.id] for block in ctx.blocks if block.enabled)
    initial = total + sum(costs[id] for id in before)
    crowding = _crowding(ctx, costs, _allowed(bench))
    excess = total - sum(costs[id] for id in crowding) - _allowed(bench)
    oldest = _chosen(ctx, bench, costs, excess=excess)
    evicted = crowding | oldest
    gone = [block for block in ctx.blocks if block.id in before or block.id in evicted]
    report = TrimReport(
        strategy="oldest_first",
        budget_tokens=bench.settings.max_prompt_tokens,
        initial_tokens=initial,
        final_tokens=total - sum(costs[id] for id in evicted),
        evictions=tuple(eviction_record(block, costs[block.id], "budget_exceeded") for block in gone),
    )
    report_trimming(ctx, report)
    ctx.blocks = [
        left_out(block, "oldest") if block.id in oldest else block.disable() if block.id in crowding else block
        for block in ctx.blocks
    ]
    settle(ctx)


def _crowding(ctx: Context, costs: Mapping[str, int], budget: int) -> set[str]:
    """The artifacts for which there is no room beside what must be sent."""
    blocks = [block for block in ctx.blocks if block.enabled]
    staying = (place for place, block in enumerate(blocks) if not block.removable)
    gone = without_room(blocks, [costs[block.id] for block in blocks], staying, budget)
    return {blocks[place].id for place in gone}


def _chosen(ctx: Context, bench: Workbench, costs: Mapping[str, int], *, excess: int) -> set[str]:
    """The blocks that go: the first that may, until the rest fits.

    A line that two cards show goes from both places with the first; RisuAI gains only what is around the second.
    """
    emptied: set[str] = set()
    for block in ctx.blocks:
        if excess <= 0:
            break
        if block.enabled and block.removable:
            line = block.bundle or block.id
            excess -= bench.around if line in emptied else costs[block.id]
            emptied.add(line)
    if excess > 0:
        ctx.fail(
            TokenBudgetExceeded(
                budget=_allowed(bench),
                actual=_allowed(bench) + excess,
                advice="Nothing more may be removed: shorten the prompts or raise the context size.",
            )
        )
    removable = (block for block in ctx.blocks if block.enabled and block.removable)
    return {block.id for block in removable if (block.bundle or block.id) in emptied}


def _allowed(bench: Workbench) -> int:
    """What the prompt may cost: RisuAI's own may use the whole window, but what an application has added to it must
    leave room for the reply."""
    window = bench.settings.max_context
    return min(window, max(bench.settings.max_prompt_tokens, bench.formed_tokens))
