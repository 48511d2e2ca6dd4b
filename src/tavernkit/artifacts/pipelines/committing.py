"""Committing a hook: one step after the other, in the fixed order, and only what is done; the report on each, and the
events of a run. Events go to clients, so content that people must not see is not in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tavernkit.artifacts.content import ArtifactVersion, Writer
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.journal import (
    CommitOutcome,
    StepJournal,
    StepOutcome,
    StepRecord,
    StepReport,
    products_of,
)
from tavernkit.artifacts.pipelines.planning import Planned, StepKey
from tavernkit.artifacts.redaction import log_entry, wire_form
from tavernkit.artifacts.store import ArtifactWrite
from tavernkit.artifacts.view import RunArtifact, SessionArtifacts
from tavernkit.errors import ArtifactError
from tavernkit.prompt.context import Clock, IdSource
from tavernkit.values import Value

EventType: TypeAlias = Literal[
    "pipeline.run.started",
    "pipeline.run.done",
    "pipeline.run.aborted",
    "pipeline.run.error",
    "pipeline.step.started",
    "pipeline.step.done",
    "artifact.updated",
]
TERMINAL_EVENTS: tuple[EventType, ...] = ("pipeline.run.done", "pipeline.run.aborted", "pipeline.run.error")
"""A run ends with exactly one of these, and nothing comes after it."""


class PipelineEvent(Value, frozen=True, kw_only=True):
    """`seq` counts from 1 in each attempt; a run that was taken up again is in its second attempt or a later one."""

    type: EventType
    run_id: str
    attempt: int
    seq: int
    pipeline: str | None = None
    step: str | None = None
    data: Mapping[str, object] = {}


Emit: TypeAlias = Callable[[PipelineEvent], Awaitable[None]]


@dataclass
class EventEmitter:
    """Numbers the events of one attempt at a run; without somebody to tell, it only counts."""

    send: Emit | None
    run_id: str
    attempt: int
    _seq: int = field(default=0, init=False)
    _ended: set[StepKey] = field(default_factory=set, init=False)

    async def emit(
        self, type: EventType, item: Planned | None = None, data: Mapping[str, object] | None = None
    ) -> None:
        self._seq += 1
        if self.send is None:
            return
        event = PipelineEvent(
            type=type,
            run_id=self.run_id,
            attempt=self.attempt,
            seq=self._seq,
            pipeline=None if item is None else item.pipeline.id,
            step=None if item is None else item.step.id,
            data=data or {},
        )
        await self.send(event)

    async def emit_step_end(self, item: Planned, record: StepRecord) -> None:
        """That a step has ended, once, when nothing about it can change any more."""
        if item.key in self._ended:
            return
        self._ended.add(item.key)
        data = {
            "status": record.status,
            "reason": record.reason,
            "code": record.code,
            "message": record.message,
            "committed": record.committed is not None,
        }
        await self.emit("pipeline.step.done", item, data)


async def commit_hook(
    plan: tuple[Planned, ...],
    records: dict[StepKey, StepRecord],
    context: RunContext,
    *,
    journal: StepJournal,
    emitter: EventEmitter,
    clock: Clock,
    ids: IdSource,
) -> None:
    """Commit every step that is done and not committed yet, and tell the end of each; `records` are brought up to date.

    A step whose writes are refused has failed, and takes with it those that were worked out from them.
    """
    for item in plan:
        record = records[item.key]
        if record.committed is not None:
            continue
        if record.status == "done" and any(records[need].status != "done" for need in item.needs):
            records[item.key] = record.with_(status="skipped", reason="dependency_failed")
            await journal.record(context, records[item.key])
        elif record.status == "done":
            made = products_of(item.pipeline, item.step, record, context)
            writes = tuple(_write(item, one, context, clock, ids) for one in made if one.artifact.access == "persisted")
            records[item.key] = await _commit(item, record, made, writes, context, journal, emitter)
        await emitter.emit_step_end(item, records[item.key])


async def _commit(
    item: Planned,
    record: StepRecord,
    made: tuple[RunArtifact, ...],
    writes: tuple[ArtifactWrite, ...],
    context: RunContext,
    journal: StepJournal,
    emitter: EventEmitter,
) -> StepRecord:
    try:
        commits = await journal.commit(context, record, writes)
    except ArtifactError as error:
        refused = record.with_(status="error", code=error.code, message=str(error), rejected=True)
        await journal.record(context, refused)
        return refused
    for commit in commits:
        await emitter.emit("artifact.updated", item, wire_form(commit.artifact, commit.version))
    for one in made:
        if one.artifact.access == "run_only":
            await emitter.emit("artifact.updated", item, wire_form(one.artifact, one.version))
    return record.with_commits(commits)


def _write(item: Planned, made: RunArtifact, context: RunContext, clock: Clock, ids: IdSource) -> ArtifactWrite:
    return ArtifactWrite(
        artifact=made.artifact.with_(id=ids()),
        content=made.version.content,
        based_on_version=made.version.based_on_version,
        writer=Writer(pipeline=item.pipeline.id, step=item.step.id),
        permissions=item.pipeline.write_permissions,
        now=clock(),
        turn=context.turn,
        turn_id=context.turn_id,
        variant_id=context.variant_id,
        run_id=context.run_id,
        step_run_id=f"{context.run_id}/{item.name}",
    )


def step_report(item: Planned, record: StepRecord, view: SessionArtifacts, context: RunContext) -> StepReport:
    """`view` is what the step's hook has begun with."""
    made = products_of(item.pipeline, item.step, record, context) if record.committed is not None else ()
    return StepReport(
        **{name: getattr(record, name) for name in StepOutcome.__struct_fields__},
        kind=item.step.kind,
        hook=item.step.hook,
        commit=_outcome(record),
        wrote=tuple(log_entry(one.artifact, _before(one, view), one.version) for one in made),
        started_at=record.started_at,
        ended_at=record.ended_at,
    )


def _outcome(record: StepRecord) -> CommitOutcome:
    if record.committed is not None:
        return "committed"
    if record.rejected:
        return "rejected"
    return "withheld" if record.status == "done" else "nothing"


def _before(made: RunArtifact, view: SessionArtifacts) -> ArtifactVersion | None:
    """What the step has read of its own artifact."""
    tag = made.artifact.tag
    if made.artifact.access == "run_only" or tag is None or tag not in view:
        return None
    earlier = [version for version in view[tag].versions if version.version < made.version.version]
    return earlier[-1] if earlier else None
