"""The end of a build, the same for every pipeline: what trimming did is told, and the plan is written down."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.errors import TokenBudgetExceeded
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import SEPARATOR
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tracing import beside
from tavernkit.prompt.trimming import TrimReport
from tavernkit.values import as_json


def before_trimming(ctx: Context) -> None:
    """A stage: let the application change the blocks while the budget can still be kept."""
    ctx.hooks.run_before_trimming(ctx)
    _put_into_chat(ctx)


def _put_into_chat(ctx: Context) -> None:
    """Take the blocks that ask for a place in the chat there: at one depth, those of a higher order stand later."""
    waiting = [block for block in ctx.blocks if block.insertion_point == "chat"]
    if not waiting:
        return
    blocks = [block for block in ctx.blocks if block.insertion_point != "chat"]
    waiting.sort(key=lambda block: (-block.depth, block.order))
    # From the end of the chat back, so that no place moves before it is used.
    for place, block in reversed([(place_in_chat(blocks, block.depth), block) for block in waiting]):
        if ctx.wording is not None:
            content = ctx.wording(block.role, block.sourced_content)
            block = block.with_(content=_with_break(content, *blocks[place - 1 : place + 1]))
        blocks.insert(place, block)
    ctx.blocks = blocks


def _with_break(content: str, before: Block | None = None, after: Block | None = None) -> str:
    """A line of one text, whose line break stands in front where the line after it brings its own."""
    has_break = before is None or before.content.endswith("\n")
    if has_break or after is None or not after.content.startswith("\n"):
        return content
    return beside("\n", content, SEPARATOR) + content.removesuffix("\n")


def place_in_chat(blocks: Sequence[Block], depth: int) -> int:
    """The place of what stands `depth` messages before the end of the chat; without a chat, the end of the prompt."""
    said = [place for place, block in enumerate(blocks) if block.slot == "history" and block.enabled]
    if not said:
        return len(blocks)
    return said[max(0, len(said) - depth)] if depth > 0 else said[-1] + 1


def report_trimming(ctx: Context, report: TrimReport, *, overflow: TokenBudgetExceeded | None = None) -> None:
    """Keep the report, and warn of what was left out, or of what should not have been."""
    ctx.trim_report = report
    ctx.instrument(
        "trim",
        blocks=len(ctx.blocks),
        budget=report.budget_tokens,
        initial_tokens=report.initial_tokens,
        final_tokens=report.final_tokens,
        evictions=report.eviction_count,
    )
    if ctx.trim_strategy not in (None, report.strategy):
        ctx.warn(
            "trim_strategy_ignored",
            f"The prompt is trimmed by {report.strategy}: on this platform,"
            f" trim_strategy={ctx.trim_strategy!r} has no effect.",
            strategy=report.strategy,
        )
    if overflow is not None:
        ctx.warn("mandatory_over_budget", str(overflow), error=overflow)
    latest = ctx.user_message
    evicted = () if latest is None else report.evictions
    lost = next((record for record in evicted if record.source and record.source.get("id") == latest), None)
    if lost is not None:
        ctx.warn(
            "user_message_dropped",
            f"The user's latest message ({lost.token_count} tokens) does not fit and is not sent:"
            " shorten the prompts or raise the context size.",
            error=TokenBudgetExceeded(budget=report.budget_tokens, actual=report.initial_tokens),
            source=ctx.user_message,
        )
    if overflow is None and report.eviction_count:
        ctx.warn(
            "trimmed",
            f"{report.eviction_count} blocks ({report.tokens_saved} tokens) were trimmed to fit"
            f" {report.budget_tokens} tokens.",
            error=TokenBudgetExceeded(budget=report.budget_tokens, actual=report.initial_tokens),
            evicted=report.eviction_count,
        )


def settle(ctx: Context) -> None:
    """Let those act who have waited to see what trimming leaves; a trimming stage calls this once its blocks stand.

    They may move blocks and disable them, but not add any: the budget has been given out.
    """
    for act in ctx.after_trimming:
        act(ctx)
    ctx.is_settled = True


def write_plan(ctx: Context) -> Plan:
    """Make the plan of what the stages have left in the context, on their way out too."""
    ctx.plan = Plan(
        blocks=tuple(ctx.blocks),
        llm_options=dict(ctx.llm_options),
        dialect_options={name: as_json(option) for name, option in ctx.dialect_options.items()},
        outlets=dict(ctx.outlets),
        warnings=tuple(ctx.warnings),
        trim_report=ctx.trim_report,
        greeting=ctx.greeting,
        metadata=dict(ctx.metadata),
    )
    return ctx.plan
