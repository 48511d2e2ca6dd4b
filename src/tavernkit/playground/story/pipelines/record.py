"""The pipelines around a reply, as the page of its run shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tavernkit.playground.base.database.models import PipelineRun
from tavernkit.playground.story.pipelines.reports import PipelineRunOut, StepRunOut
from tavernkit.playground.story.prompting.usage import cost_words
from tavernkit.values import Value

STATES: Mapping[str, str] = {
    "waiting": "Waiting",
    "running": "At work",
    "done": "Done",
    "skipped": "Left out",
    "error": "Failed",
    "aborted": "Stopped",
}
REASONS: Mapping[str, str] = {
    "disabled": "It is switched off.",
    "not_due": "Its turn has not come: it runs every few turns only.",
    "guard_not_matched": "Its guard has said no.",
    "dependency_skipped": "A step that it depends on was left out.",
    "dependency_failed": "A step that it depends on has failed.",
    "run_aborted": "The run was stopped before it began.",
}
HOOKS: Mapping[str, str] = {"before": "before the reply", "after": "behind the reply"}


RUN_STATES = {"running": "At work", "done": "Done", "aborted": "Stopped", "error": "Failed"}


class StepLine(Value, frozen=True, kw_only=True):
    """A step: how it went, what it has used, and which versions it has written."""

    name: str
    about: str
    state: str
    words: str
    used: str
    why: str
    wrote: tuple[str, ...]


class PipelinesView(Value, frozen=True, kw_only=True):
    """The pipelines around one reply."""

    state: str
    words: str
    message: str
    failed_steps: tuple[str, ...]
    steps: tuple[StepLine, ...]


def failed_steps(run: PipelineRun) -> tuple[str, ...]:
    """Of each step that has failed, its name and why."""
    steps = () if run.report is None else PipelineRunOut.of(run).steps
    return tuple(f"{step.pipeline}/{step.step} failed: {step.message}" for step in steps if step.status == "error")


def run_words(status: str, failed: int) -> str:
    """How a run or a reply has ended, if steps around it have failed."""
    if not failed:
        return status
    return f"{status}, {failed} {'step' if failed == 1 else 'steps'} failed"


def pipelines_view(run: PipelineRun) -> PipelinesView:
    """What became of them; nothing of what they have made is quoted."""
    report, failed = PipelineRunOut.of(run), failed_steps(run)
    return PipelinesView(
        state=report.status,
        words=run_words(RUN_STATES[report.status], len(failed)),
        failed_steps=failed,
        message=report.message or "",
        steps=tuple(_line(step) for step in report.steps),
    )


def _line(step: StepRunOut) -> StepLine:
    tokens = step.prompt_tokens + step.completion_tokens
    used = [
        f"{tokens:,} tokens" if step.calls else "",
        cost_words(step.cost),
        "" if step.status == "skipped" else _seconds(step),
    ]
    return StepLine(
        name=f"{step.pipeline}/{step.step}",
        about=f"{step.kind}, {HOOKS.get(step.hook, step.hook)}",
        state=step.status,
        words=STATES.get(step.status, step.status),
        used=" · ".join(part for part in used if part),
        why=step.message or REASONS.get(step.reason or "", ""),
        wrote=tuple(_wrote(write) for write in step.wrote),
    )


def _seconds(step: StepRunOut) -> str:
    if step.started_at is None or step.ended_at is None:
        return ""
    return f"{(step.ended_at - step.started_at).total_seconds():.1f} s"


def _wrote(write: dict[str, Any]) -> str:
    """Which artifact, and from which version to which."""
    if write["access"] != "persisted":
        return f"{write['artifact']}, for this run only"
    before = write["basedOnVersion"]
    return f"{write['tag']} {'new' if before is None else f'v{before}'} → v{write['version']}"
