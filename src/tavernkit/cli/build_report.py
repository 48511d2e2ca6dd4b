"""What `build --explain` says: every block with its origin and its cost, and why the others are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tavernkit.cli.file_notes import FileNote
from tavernkit.cli.output import Printer
from tavernkit.cli.prompt_report import ROLE_COLOURS, print_trace
from tavernkit.cli.terminal import shorten
from tavernkit.prompt.block import Block
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import default_estimator, message_tokens
from tavernkit.prompt.trace import Trace
from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import JsonObject, Value

NO_ROOM = "no room for it"
NO_ROOM_BY_GROUP = {
    "history": "no room for it; the chat is sent from its end, up to here",
    "examples": "no room for the whole of it; examples are sent from the first, up to here",
}
BEHIND_BY_GROUP = {
    "history": "older than a message that had no room",
    "examples": "behind an example that had no room",
}
MUST_BE_SENT = "must be sent, but there is no room for it"
NOTHING_LEFT = "the prompts that must be sent leave no room"
LEFT_OUT = {
    "stripped": "examples are switched off in the settings",
    "oldest": "no room for it; the oldest of the chat goes first",
    "summed_up": "the memory tells of it",
    "format": "the model's format has no use for it",
}


class ExplainedBlock(Value, frozen=True, kw_only=True):
    """One block. `parts` are the texts that were joined in it; `why_not` says why it is not sent."""

    id: str
    role: str
    name: str | None
    slot: str | None
    source: JsonObject
    parts: tuple[str, ...]
    group: str
    tokens: int
    sent: bool
    why_not: str | None
    content: str


class BuildReport(Value, frozen=True, kw_only=True):
    """A whole prompt. `tokens` is what trimming counted, with what surrounds each message, and `budget` its limit.

    `out_of_reach` counts the messages too old for any budget to reach: they were not looked at, and are no blocks.
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
    warnings: tuple[BuildWarning, ...]
    notes: tuple[FileNote, ...]
    trace: Trace | None


def explain_plan(
    plan: Plan,
    *,
    history: Sequence[Message],
    completion: str,
    generation_type: str,
    dialect: str,
    model: str | None,
    notes: tuple[FileNote, ...],
) -> BuildReport:
    """Measure every block, and find out why the missing ones are missing."""
    trimming = plan.trim_report
    reasons = _reasons(plan)
    return BuildReport(
        completion=completion,
        generation_type=generation_type,
        dialect=dialect,
        model=model,
        fingerprint=plan.fingerprint(dialect, model=model or ""),
        tokens=0 if trimming is None else trimming.final_tokens,
        budget=0 if trimming is None else trimming.budget_tokens,
        blocks=tuple(_explained(block, model, reasons.get(block.id)) for block in plan.blocks),
        out_of_reach=_out_of_reach(plan, history),
        warnings=plan.warnings,
        notes=notes,
        trace=plan.trace,
    )


def _out_of_reach(plan: Plan, history: Sequence[Message]) -> int:
    places = [str(block.source.get("id")).partition(":") for block in plan.blocks if block.slot == "history"]
    oldest = min((int(index) for kind, _, index in places if kind == "message"), default=0)
    return sum(message.metadata.get("is_system") is not True for message in history[:oldest])


def _explained(block: Block, model: str | None, why_not: str | None) -> ExplainedBlock:
    parts = tuple(map(str, block.metadata.get("parts", ())))
    return ExplainedBlock(
        id=block.id,
        role=block.role,
        name=block.name,
        slot=block.slot,
        source=block.source,
        parts=parts if len(parts) > 1 else (),
        group=block.token_budget_group,
        tokens=message_tokens(block.to_message(), default_estimator(), model),
        sent=block.enabled,
        why_not=why_not,
        content=block.content,
    )


def _reasons(plan: Plan) -> Mapping[str, str]:
    """Why each block that is not sent is missing, by its id."""
    missing = [block for block in plan.blocks if not block.enabled]
    overflowed = any(warning.code == "mandatory_over_budget" for warning in plan.warnings)
    misfits = _misfits(missing)
    return {block.id: _reason(block, block.id in misfits, overflowed=overflowed) for block in missing}


def _misfits(missing: list[Block]) -> frozenset[str]:
    """The blocks that had no room themselves: the newest of the chat, the first of the examples."""
    history = [block for block in missing if block.token_budget_group == "history"]
    examples = [block for block in missing if block.token_budget_group == "examples"]
    first = [block for block in examples if block.bundle is not None and block.bundle == examples[0].bundle]
    return frozenset(block.id for block in [*history[-1:], *examples[:1], *first])


def _reason(block: Block, is_misfit: bool, *, overflowed: bool) -> str:
    group = block.token_budget_group
    left_out = block.metadata.get("left_out")
    if left_out in LEFT_OUT:
        return LEFT_OUT[left_out]
    if not block.removable:
        return MUST_BE_SENT
    if overflowed:
        return NOTHING_LEFT
    if left_out == "budget" or (left_out is None and is_misfit):
        return NO_ROOM_BY_GROUP.get(group, NO_ROOM)
    return BEHIND_BY_GROUP.get(group, NO_ROOM)


def print_report(printer: Printer, report: BuildReport) -> None:
    printer.line(f"{report.completion} completion, {report.generation_type}", style="bold")
    printer.line()
    for block in report.blocks:
        if block.sent:
            _print_block(printer, block)
    missing = [block for block in report.blocks if not block.sent]
    if missing:
        printer.line("Not sent:", style="bold")
        printer.table(
            ("role", "source", "tokens", "why", "text"),
            [
                (block.role, _source(block), block.tokens, block.why_not or "", shorten(block.content, 40))
                for block in missing
            ],
        )
        printer.line()
    if report.out_of_reach:
        printer.line(f"{report.out_of_reach:,} older messages are too far back for any of them to fit.")
    for warning in report.warnings:
        printer.line(f"warning: {warning.message}", style="yellow")
    for note in report.notes:
        printer.line(f"note: {note}")
    sent = len(report.blocks) - len(missing)
    around = report.tokens - sum(block.tokens for block in report.blocks if block.sent)
    beside = f" ({around:,} of them around the messages)" if report.completion == "chat" and around > 0 else ""
    printer.line(f"{sent:,} blocks, {report.tokens:,} of {report.budget:,} tokens{beside}; {len(missing):,} not sent")
    printer.line(f"fingerprint {report.fingerprint} ({report.dialect})")
    if report.trace is not None:
        print_trace(printer, report.trace)


def _print_block(printer: Printer, block: ExplainedBlock) -> None:
    speaker = f" ({block.name})" if block.name else ""
    heading = f"[{block.role}{speaker}] {_source(block)}, {block.tokens:,} tokens"
    printer.line(heading, style=ROLE_COLOURS.get(block.role, "bold"))
    printer.line(block.content)
    printer.line()


def _source(block: ExplainedBlock) -> str:
    parts = f" = {' + '.join(block.parts)}" if block.parts else ""
    return f"{block.source.get('stage', '?')}: {block.source.get('id', '?')}{parts}"
