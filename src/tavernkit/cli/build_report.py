"""What `prompt` and `build --explain` say: every block with its origin and its cost, and why the others are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tavernkit.cli.files import FileNote
from tavernkit.cli.output import Printer, shorten
from tavernkit.prompt.block import Block
from tavernkit.prompt.evictions import evicted_blocks
from tavernkit.prompt.message import Message
from tavernkit.prompt.parts import Part
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import UnsentPrompt
from tavernkit.prompt.sources import Explanation
from tavernkit.prompt.trace import Trace
from tavernkit.prompt.trimming import TrimReport
from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import JsonObject, Value

ROLE_COLOURS = {"system": "cyan", "user": "green", "assistant": "magenta"}


class BuiltRequest(Value, frozen=True, kw_only=True):
    """What building has come to, whatever the platform: the plan, how it is to be written down, what it was made of."""

    plan: Plan
    dialect: str
    model: str | None
    completion: str
    generation_type: str
    messages: tuple[Message, ...]
    notes: tuple[FileNote, ...]
    unsent_prompts: tuple[UnsentPrompt, ...] = ()
    explanation: Explanation | None = None


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

    @property
    def origin(self) -> str:
        return f"{self.source.get('stage', '?')}: {self.source.get('id', '?')}"


class ExplainedBlock(BlockReport, frozen=True, kw_only=True):
    """A block of a platform. `parts` are the texts that were joined in it, `lore` the entries in it and why they were
    activated; `why_not` says why it is not sent."""

    parts: tuple[str, ...]
    lore: tuple[str, ...]
    group: str
    why_not: str | None

    @property
    def origin(self) -> str:
        parts = f" = {' + '.join(self.parts)}" if self.parts else ""
        lore = f", lore {', '.join(self.lore)}" if self.lore else ""
        return super().origin + parts + lore


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


class BuildReport(Value, frozen=True, kw_only=True):
    """A whole prompt. `tokens` is what trimming counted, with what surrounds each message, and `budget` its limit.

    `out_of_reach` counts the messages too old for any budget to reach: they were not looked at, and are no blocks.
    `unsent_prompts` are switched on in the preset, and are no blocks either.
    """

    completion: str
    generation_type: str
    dialect: str
    model: str | None
    fingerprint: str
    tokens: int
    budget: int
    blocks: tuple[ExplainedBlock, ...]
    out_of_reach: int
    unsent_prompts: tuple[UnsentPrompt, ...]
    warnings: tuple[BuildWarning, ...]
    notes: tuple[FileNote, ...]
    trace: Trace | None


def report_on(plan: Plan, dialect: str, model: str | None) -> PromptReport:
    """Measure every block of a plan."""
    blocks = tuple(BlockReport(**_measured(block, model)) for block in plan.blocks)
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


def explain(built: BuiltRequest) -> BuildReport:
    """Measure every block, and find out why the missing ones are missing."""
    plan, trimming = built.plan, built.plan.trim_report
    reasons = {block.id: block.sentence for block in evicted_blocks(plan, most=len(plan.blocks))}
    return BuildReport(
        completion=built.completion,
        generation_type=built.generation_type,
        dialect=built.dialect,
        model=built.model,
        fingerprint=plan.fingerprint(built.dialect, model=built.model or ""),
        tokens=0 if trimming is None else trimming.final_tokens,
        budget=0 if trimming is None else trimming.budget_tokens,
        blocks=tuple(_explained(block, built.model, reasons.get(block.id)) for block in plan.blocks),
        out_of_reach=_out_of_reach(plan, built.messages),
        unsent_prompts=built.unsent_prompts,
        warnings=plan.warnings,
        notes=built.notes,
        trace=plan.trace,
    )


def _measured(block: Block, model: str | None) -> dict[str, Any]:
    return {
        "id": block.id,
        "role": block.role,
        "name": block.name,
        "slot": block.slot,
        "source": block.source,
        "tokens": block.tokens(model_hint=model),
        "sent": block.enabled,
        "content": block.content,
    }


def _explained(block: Block, model: str | None, why_not: str | None) -> ExplainedBlock:
    listed = block.metadata.get("parts")
    parts = tuple(map(str, listed)) if isinstance(listed, list | tuple) else ()
    return ExplainedBlock(
        **_measured(block, model),
        parts=parts if len(parts) > 1 else (),
        lore=tuple(dict.fromkeys(map(_entry, block.lore_parts))),
        group=block.token_budget_group,
        why_not=why_not,
    )


def _entry(part: Part) -> str:
    why = part.cause if part.key is None else f"key {shorten(part.key, 40)}"
    return f"{shorten(part.name or part.source, 40)} ({why})"


def _out_of_reach(plan: Plan, history: Sequence[Message]) -> int:
    places = [str(block.source.get("id")).partition(":") for block in plan.blocks if block.slot == "history"]
    oldest = min((int(index) for kind, _, index in places if kind == "message"), default=0)
    return sum(message.metadata.get("is_system") is not True for message in history[:oldest])


def print_prompt(printer: Printer, report: PromptReport) -> None:
    _print_sent(printer, report.blocks)
    left_out = [block for block in report.blocks if not block.sent]
    if left_out:
        printer.line("Trimmed:", style="bold")
        printer.table(("role", "source", "tokens"), [(block.role, block.origin, block.tokens) for block in left_out])
        printer.line()
    if report.greeting is not None:
        printer.line("The chat is empty. Greeting:", style="bold")
        printer.line(report.greeting)
        printer.line()
    sent = len(report.blocks) - len(left_out)
    budget = "" if report.budget is None else f" of {report.budget:,}"
    around = report.tokens - report.block_tokens
    total = f"{sent:,} messages, {report.tokens:,}{budget} tokens ({around:,} of them around the messages)"
    _print_end(printer, report, total)


def print_report(printer: Printer, report: BuildReport) -> None:
    printer.line(f"{report.completion} completion, {report.generation_type}", style="bold")
    printer.line()
    _print_sent(printer, report.blocks)
    missing = [block for block in report.blocks if not block.sent]
    if missing:
        printer.line("Not sent:", style="bold")
        printer.table(
            ("role", "source", "tokens", "why", "text"),
            [
                (block.role, block.origin, block.tokens, block.why_not or "", shorten(block.content, 40))
                for block in missing
            ],
        )
        printer.line()
    if report.unsent_prompts:
        printer.line("Enabled prompts that are not sent:", style="bold")
        printer.table(
            ("prompt", "name", "why"),
            [(shorten(each.identifier, 40), shorten(each.name, 40), each.sentence) for each in report.unsent_prompts],
        )
        printer.line()
    if report.out_of_reach:
        printer.line(f"{report.out_of_reach:,} older messages do not fit.")
    sent = len(report.blocks) - len(missing)
    around = report.tokens - sum(block.tokens for block in report.blocks if block.sent)
    beside = f" ({around:,} of them around the messages)" if report.completion == "chat" and around > 0 else ""
    tokens = f"{report.tokens:,} of {report.budget:,} tokens{beside}"
    _print_end(printer, report, f"{sent:,} blocks, {tokens}; {len(missing):,} not sent", report.notes)


def _print_sent(printer: Printer, blocks: Sequence[BlockReport]) -> None:
    for block in blocks:
        if block.sent:
            print_speaker(printer, block.role, block.name, f" {block.origin}, {block.tokens:,} tokens")
            printer.line(block.content)
            printer.line()


def print_speaker(printer: Printer, role: str, name: str | None, what: str = "") -> None:
    speaker = f" ({name})" if name else ""
    printer.line(f"[{role}{speaker}]{what}", style=ROLE_COLOURS.get(role, "bold"))


def _print_end(
    printer: Printer, report: PromptReport | BuildReport, total: str, notes: Sequence[FileNote] = ()
) -> None:
    for warning in report.warnings:
        printer.line(f"warning: {warning.message}", style="yellow")
    for note in notes:
        if not note.is_broken:
            printer.line(f"note: {note}")
    printer.line(total)
    printer.line(f"fingerprint {report.fingerprint} ({report.dialect})")
    if report.trace is not None:
        print_trace(printer, report.trace)


def print_trace(printer: Printer, trace: Trace) -> None:
    """Print how long each stage took, and its counters."""
    printer.line()
    rows = [
        (stage.name, f"{stage.duration_ms:.2f}", ", ".join(f"{key} {value}" for key, value in stage.stats.items()))
        for stage in trace.stages
    ]
    printer.table(("stage", "ms", "counters"), rows)
