"""What became of runs of pipelines, as rows, as JSON, and as the page of a run shows it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import Select, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job, PipelineRun
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, translated
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.pipelines.documents import Content
from tavernkit.playground.story.prompting.replies import cost_words
from tavernkit.values import Value

PipelineId = Annotated[str, Field(min_length=1, max_length=200)]


class DryRun(StrictModel):
    conversation_id: UUID = Field(description="The conversation to try it on; nothing in it is changed.")
    content: Content | None = Field(default=None, description="The profile as somebody writes it; else as it is saved.")
    trigger: PipelineTrigger = Field(default="user_message", description="Pipelines that do not have it are left out.")
    with_reply: bool = Field(
        default=False,
        description="Ask the story's model for a reply as well, for the steps behind it; else they get the last one.",
    )


class RunPipelines(StrictModel):
    request_id: UUID = Field(description="Made by you: whoever asks again with it is answered with the first run.")
    pipelines: list[PipelineId] | None = Field(
        default=None, min_length=1, max_length=100, description="Which of the profile's; without them, all that may."
    )


class StepRunOut(BaseModel):
    """What became of a step. Nothing here quotes what was made."""

    pipeline: str
    step: str
    kind: str
    hook: str
    status: str
    commit: str
    reason: str | None
    code: str | None
    message: str | None
    read: list[dict[str, Any]] = Field(description="The artifacts that were looked at, with their versions.")
    wrote: list[dict[str, Any]] = Field(description="From which version to which, the change in a few words, a hash.")
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = Field(default=None, description="What the provider says that it cost.")
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, step: dict[str, Any]) -> Self:
        return cls.model_validate({**step, **step["usage"]})


class PipelineRunOut(Document):
    """A run of pipelines, around a reply or by itself."""

    id: UUID
    conversation_id: UUID
    run_id: UUID | None = Field(description="The run of the reply that it belongs to; null if it was asked for alone.")
    job_id: UUID | None = Field(description="The job that carries it out, if it was asked for alone.")
    profile_id: UUID | None = Field(description="The profile that was followed; null once it is deleted.")
    profile_version: int
    trigger: PipelineTrigger
    status: Literal["running", "done", "aborted", "error"]
    failed_type: str | None
    message: str | None
    turn: int
    message_id: UUID | None = Field(description="The message whose telling its writes belong to.")
    swipe_id: UUID | None
    steps: list[StepRunOut] = Field(description="In the order of commits, once the run has ended.")
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, run: PipelineRun, job: Job | None = None) -> Self:
        report = run.report or {}
        status, message, finished_at = run.status, report.get("message"), run.finished_at
        if run.report is None and job is not None and job.status not in ("queued", "running"):
            # Nobody takes it up again: it was stopped before it began, or given up.
            error = job.error or {"message": _("The run was stopped before it began.")}
            status, message, finished_at = "aborted", error["message"], job.finished_at
        return cls.of_row(
            run,
            job_id=run.id if run.run_id is None else None,
            status=status,
            failed_type=report.get("failed_type"),
            message=message,
            steps=[StepRunOut.of(step) for step in report.get("steps", ())],
            finished_at=finished_at,
        )


class KnownRun(Value, frozen=True, kw_only=True):
    """A run of pipelines; `job` carries it out, if it is one that was asked for alone, and has the same id."""

    run: PipelineRun
    job: Job | None = None


async def list_pipeline_runs(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[KnownRun]:
    """The runs of pipelines in a conversation, the newest first."""
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        query = known_runs().where(PipelineRun.conversation_id == conversation_id)
        if after is not None:
            time, id = after
            behind = and_(PipelineRun.created_at == time, PipelineRun.id > id)
            query = query.where(or_(PipelineRun.created_at < time, behind))
        rows = await session.execute(query.order_by(PipelineRun.created_at.desc(), PipelineRun.id).limit(limit))
        return [KnownRun(run=run, job=job) for run, job in rows]


async def read_pipeline_run(runtime: Runtime, viewer: Viewer, pipeline_run_id: UUID) -> KnownRun:
    """One run of pipelines."""
    async with runtime.database.read() as session:
        row = (await session.execute(known_runs().where(PipelineRun.id == pipeline_run_id))).one_or_none()
        run, job = existing(row, _("run"))
        try:
            await conversation_for(session, run.conversation_id, viewer, Access.READ)
        except Refused:
            raise not_found(_("run")) from None
        return KnownRun(run=run, job=job)


async def run_around(session: AsyncSession, run_id: UUID) -> PipelineRun | None:
    """The pipelines around the reply of a run of a conversation."""
    return await session.scalar(
        select(PipelineRun)
        .where(PipelineRun.run_id == run_id)
        .order_by(PipelineRun.created_at.desc(), PipelineRun.id)
        .limit(1)
    )


async def runs_around(session: AsyncSession, run_ids: Collection[UUID]) -> dict[UUID, PipelineRun]:
    """The pipelines around the replies of these runs, by run."""
    rows = await session.scalars(
        select(PipelineRun).where(PipelineRun.run_id.in_(run_ids)).order_by(PipelineRun.created_at, PipelineRun.id)
    )
    return {row.run_id: row for row in rows if row.run_id is not None}


def known_runs() -> Select[PipelineRun, Job]:
    """Runs of pipelines with their jobs, where they have one."""
    return select(PipelineRun, Job).outerjoin(Job, (Job.id == PipelineRun.id) & PipelineRun.run_id.is_(None))


STATES: Mapping[str, str] = {
    "waiting": _("Waiting"),
    "running": _("Running"),
    "done": _("Done"),
    "skipped": _("Skipped"),
    "error": _("Failed"),
    "aborted": _("Stopped"),
}
REASONS: Mapping[str, str] = {
    "disabled": _("The step is disabled."),
    "not_due": _("The step is not due: it runs only every few turns."),
    "guard_not_matched": _("Its condition was not met."),
    "dependency_skipped": _("A step it depends on was skipped."),
    "dependency_failed": _("A step it depends on failed."),
    "run_aborted": _("The run was stopped before the step began."),
}
HOOKS: Mapping[str, str] = {"before": _("before the reply"), "after": _("after the reply")}


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
    return tuple(
        _("{step} failed: {reason}", step=f"{step.pipeline}/{step.step}", reason=step.message or "")
        for step in steps
        if step.status == "error"
    )


def run_words(status: str, failed: int) -> str:
    """How a run or a reply has ended, if steps around it have failed."""
    if not failed:
        return status
    return ngettext("{status}, {count} step failed", "{status}, {count} steps failed", failed, status=status)


def pipelines_view(run: PipelineRun) -> PipelinesView:
    """What became of them; nothing of what they have made is quoted."""
    report, failed = PipelineRunOut.of(run), failed_steps(run)
    return PipelinesView(
        state=report.status,
        words=run_words(STATES[report.status], len(failed)),
        failed_steps=failed,
        message=report.message or "",
        steps=tuple(_line(step) for step in report.steps),
    )


def _line(step: StepRunOut) -> StepLine:
    tokens = step.prompt_tokens + step.completion_tokens
    used = [
        ngettext("{count} token", "{count} tokens", tokens) if step.calls else "",
        cost_words(step.cost),
        "" if step.status == "skipped" else _seconds(step),
    ]
    return StepLine(
        name=f"{step.pipeline}/{step.step}",
        about=_("{kind}, {hook}", kind=step.kind, hook=HOOKS.get(step.hook, step.hook)),
        state=step.status,
        words=STATES.get(step.status, step.status),
        used=" · ".join(translated(part) for part in used if part),
        why=step.message or REASONS.get(step.reason or "", ""),
        wrote=tuple(_wrote(write) for write in step.wrote),
    )


def _seconds(step: StepRunOut) -> str:
    if step.started_at is None or step.ended_at is None:
        return ""
    return _("{seconds} s", seconds=round((step.ended_at - step.started_at).total_seconds(), 1))


def _wrote(write: dict[str, Any]) -> str:
    """Which artifact, and from which version to which."""
    if write["access"] != "persisted":
        return _("{artifact}, for this run only", artifact=write["artifact"])
    tag, before, version = write["tag"], write["basedOnVersion"], str(write["version"])
    return _("{tag} new → v{version}", tag=tag, version=version) if before is None else f"{tag} v{before} → v{version}"
