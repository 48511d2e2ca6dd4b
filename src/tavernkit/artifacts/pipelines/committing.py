"""Committing a hook: one step after the other, in the fixed order, and only what is done; and the report on each."""

from __future__ import annotations

from tavernkit.artifacts.content import ArtifactVersion, Writer
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.events import EventEmitter
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
