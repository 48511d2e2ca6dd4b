"""What `prompt` says about a prompt."""

from __future__ import annotations

from tavernkit.cli.output import Printer
from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import default_estimator, message_tokens
from tavernkit.prompt.trace import Trace
from tavernkit.prompt.trimming import TrimReport
from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import JsonObject, Value

ROLE_COLOURS = {"system": "cyan", "user": "green", "assistant": "magenta"}


class BlockReport(Value, frozen=True, kw_only=True):
    """One block; `sent` is false for a block that had to go to keep the budget."""

    id: str
    role: str
    name: str | None
    slot: str | None
    source: JsonObject
    tokens: int
    sent: bool
    content: str


class PromptReport(Value, frozen=True, kw_only=True):
    """A whole prompt. `tokens` is what trimming counted: the blocks sent, and what surrounds each message."""

    dialect: str
    model: str | None
    fingerprint: str
    tokens: int
    block_tokens: int
    budget: int | None
    blocks: tuple[BlockReport, ...]
    greeting: str | None
    trimming: TrimReport | None
    warnings: tuple[BuildWarning, ...]
    trace: Trace | None


def report_on(plan: Plan, dialect: str, model: str | None) -> PromptReport:
    """Measure every block of a plan."""
    blocks = tuple(_report(block, model) for block in plan.blocks)
    block_tokens = sum(block.tokens for block in blocks if block.sent)
    trimming = plan.trim_report
    return PromptReport(
        dialect=dialect,
        model=model,
        fingerprint=plan.fingerprint(dialect, model=model or ""),
        tokens=block_tokens if trimming is None else trimming.final_tokens,
        block_tokens=block_tokens,
        budget=None if trimming is None else trimming.budget_tokens,
        blocks=blocks,
        greeting=plan.greeting,
        trimming=trimming,
        warnings=plan.warnings,
        trace=plan.trace,
    )


def _report(block: Block, model: str | None) -> BlockReport:
    return BlockReport(
        id=block.id,
        role=block.role,
        name=block.name,
        slot=block.slot,
        source=block.source,
        tokens=message_tokens(block.to_message(), default_estimator(), model),
        sent=block.enabled,
        content=block.content,
    )


def print_prompt(printer: Printer, report: PromptReport) -> None:
    for block in report.blocks:
        if block.sent:
            _print_block(printer, block)
    left_out = [block for block in report.blocks if not block.sent]
    if left_out:
        printer.line("Left out to keep the budget:", style="bold")
        printer.table(("role", "source", "tokens"), [(block.role, _source(block), block.tokens) for block in left_out])
        printer.line()
    if report.greeting is not None:
        printer.line("The chat has not begun; the greeting is:", style="bold")
        printer.line(report.greeting)
        printer.line()
    for warning in report.warnings:
        printer.line(f"warning: {warning.message}", style="yellow")
    _print_totals(printer, report)
    if report.trace is not None:
        print_trace(printer, report.trace)


def _print_block(printer: Printer, block: BlockReport) -> None:
    speaker = f" ({block.name})" if block.name else ""
    heading = f"[{block.role}{speaker}] {_source(block)}, {block.tokens:,} tokens"
    printer.line(heading, style=ROLE_COLOURS.get(block.role, "bold"))
    printer.line(block.content)
    printer.line()


def _source(block: BlockReport) -> str:
    return f"{block.source.get('stage', '?')}: {block.source.get('id', '?')}"


def _print_totals(printer: Printer, report: PromptReport) -> None:
    sent = sum(block.sent for block in report.blocks)
    budget = "" if report.budget is None else f" of {report.budget:,}"
    around = report.tokens - report.block_tokens
    printer.line(f"{sent:,} messages, {report.tokens:,}{budget} tokens ({around:,} of them around the messages)")
    printer.line(f"fingerprint {report.fingerprint} ({report.dialect})")


def print_trace(printer: Printer, trace: Trace) -> None:
    """Print how long each stage took, and its counters."""
    printer.line()
    rows = [
        (stage.name, f"{stage.duration_ms:.2f}", ", ".join(f"{key} {value}" for key, value in stage.stats.items()))
        for stage in trace.stages
    ]
    printer.table(("stage", "ms", "counters"), rows)
