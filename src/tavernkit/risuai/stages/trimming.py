"""The last look at the size: the finished prompt is counted again, and the oldest of the chat goes if it must."""

from __future__ import annotations

from tavernkit.errors import TokenBudgetExceeded
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import settle, tell_of_trimming
from tavernkit.prompt.trimming import EvictionRecord, TrimReport
from tavernkit.risuai.workbench import Workbench

__all__ = ["trimming"]


def trimming(ctx: Context) -> None:
    """Fit the blocks into the window, and say what had to go, here and before the prompt was put together."""
    bench = ctx.platform(Workbench)
    costs = {block.id: bench.cost(block) for block in ctx.blocks}
    before = {block.id for block in ctx.blocks if block.id in bench.evicted}
    total = sum(costs[block.id] for block in ctx.blocks if block.enabled)
    initial = total + sum(costs[id] for id in before)
    allowed = _allowed(bench)
    evicted: set[str] = set()
    for block in ctx.blocks:
        if total <= allowed:
            break
        if block.enabled and block.removable:
            evicted.add(block.id)
            total -= costs[block.id]
    if total > allowed:
        ctx.fail(
            TokenBudgetExceeded(
                budget=allowed,
                actual=total,
                advice="Nothing more may be removed: shorten the prompts or raise the context size.",
            )
        )
    gone = [block for block in ctx.blocks if block.id in before or block.id in evicted]
    report = TrimReport(
        strategy="priority",
        budget_tokens=bench.settings.max_prompt_tokens,
        initial_tokens=initial,
        final_tokens=total,
        evictions=tuple(_record(block, costs[block.id]) for block in gone),
    )
    tell_of_trimming(ctx, report)
    ctx.blocks = [_left_out(block) if block.id in evicted else block for block in ctx.blocks]
    settle(ctx)


def _left_out(block: Block) -> Block:
    return block.with_(enabled=False, metadata={**block.metadata, "left_out": "oldest"})


def _allowed(bench: Workbench) -> int:
    """What the prompt may cost: RisuAI's own may use the whole window, but what an application has added to it must
    leave room for the reply."""
    window = bench.settings.max_context
    return min(window, max(bench.settings.max_prompt_tokens, bench.formed_tokens))


def _record(block: Block, tokens: int) -> EvictionRecord:
    return EvictionRecord(
        block_id=block.id,
        slot=block.slot,
        token_count=tokens,
        reason="priority_cutoff",
        budget_group=block.token_budget_group,
        priority=block.priority,
        source=block.metadata.get("source"),
    )
