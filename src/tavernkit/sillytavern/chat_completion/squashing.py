"""Joining system messages that follow one another."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context

_APART = ("new_chat", "new_example", "group_nudge")


def squashed(ctx: Context, blocks: Sequence[Block]) -> list[Block]:
    """Join neighbours among the system's messages by a line break, save those that head something or bear a name."""
    result: list[Block] = []
    runs: list[list[Block]] = []
    for block in blocks:
        if not block.enabled or (block.role == "system" and not block.content):
            result.append(block)
            continue
        if _joins(block) and runs and _joins(runs[-1][0]):
            runs[-1].append(block)
            continue
        runs.append([block])
        result.append(block)
    merged = {run[0].id: _merged(ctx, run) for run in runs if len(run) > 1}
    return [merged.get(block.id, block) for block in result]


def _joins(block: Block) -> bool:
    return block.role == "system" and not block.name and block.slot not in _APART


def _merged(ctx: Context, run: Sequence[Block]) -> Block:
    return ctx.new_block(
        source="squashed",
        slot="squashed",
        content="\n".join(block.content for block in run),
        removable=False,
        token_budget_group="system",
        metadata={"parts": [block.source.get("id") for block in run]},
    )
