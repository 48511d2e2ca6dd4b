"""The end of a build, the same for every pipeline: what trimming did is told, and the plan is written down."""

from __future__ import annotations

from tavernkit.errors import TokenBudgetExceeded
from tavernkit.prompt.context import Context
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.trimming import TrimReport
from tavernkit.values import as_json


def before_trimming(ctx: Context) -> None:
    """A stage: let the application change the blocks while the budget can still be kept."""
    ctx.hooks.run_before_trimming(ctx)


def tell_of_trimming(ctx: Context, report: TrimReport, *, overflow: TokenBudgetExceeded | None = None) -> None:
    """Keep the report, and warn of what was left out, or of what should not have been."""
    ctx.trim_report = report
    ctx.instrument(
        "trim",
        stage="trimming",
        budget=report.budget_tokens,
        initial_tokens=report.initial_tokens,
        final_tokens=report.final_tokens,
        evictions=report.eviction_count,
    )
    if overflow is not None:
        ctx.warn("mandatory_over_budget", str(overflow), error=overflow)
    elif report.eviction_count:
        ctx.warn(
            "trimmed",
            f"{report.eviction_count} blocks ({report.tokens_saved} tokens) were left out to fit"
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


def write_plan(ctx: Context) -> None:
    """Make the plan of what the stages have left in the context."""
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
