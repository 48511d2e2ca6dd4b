"""The journal of pipelines in the database: what steps have come to, committed together with what they write.

Every transaction holds the lock of the conversation and looks whether the worker's claim still holds: once the run has
been taken from it, nothing is written. Whoever takes it up finds the steps that are done, and does not repeat them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import ArtifactWrite, Commit
from tavernkit.artifacts.pipelines import JournalState, Profile, RunContext, RunReport, StepRecord
from tavernkit.errors import TavernKitError
from tavernkit.playground.artifacts.rows import conversation_of, id_of
from tavernkit.playground.artifacts.store import TransactionArtifactStore
from tavernkit.playground.database.models import PipelineRun, PipelineStepRun, Run
from tavernkit.playground.runs.locks import lock_conversation
from tavernkit.playground.runs.service import Claim
from tavernkit.playground.runtime import Runtime
from tavernkit.values import Json, Value

__all__ = ["DatabaseJournal", "RunTakenError", "close_run", "open_run", "record_step"]

T = TypeVar("T", bound=Value)


class RunTakenError(TavernKitError):
    """The run is another worker's now, or has ended: nothing was written."""

    def __init__(self) -> None:
        super().__init__("The run was taken over or has ended in the meantime. Nothing was written.")


class DatabaseJournal:
    """A journal of which each method is a transaction of its own, written by the worker that has the claim."""

    def __init__(self, runtime: Runtime, claim: Claim) -> None:
        self._runtime = runtime
        self._claim = claim

    async def open(self, context: RunContext) -> JournalState:
        async with self._runtime.database.write() as session:
            return await open_run(session, self._claim, context)

    async def record(self, context: RunContext, record: StepRecord) -> None:
        async with self._runtime.database.write() as session:
            await record_step(session, self._claim, context, record, ids=self._runtime.ids)

    async def commit(
        self, context: RunContext, record: StepRecord, writes: tuple[ArtifactWrite, ...]
    ) -> tuple[Commit, ...]:
        async with self._runtime.database.write() as session:
            return await record_step(session, self._claim, context, record, writes, ids=self._runtime.ids)

    async def close(self, context: RunContext, report: RunReport) -> None:
        async with self._runtime.database.write() as session:
            await close_run(session, self._claim, context, report, now=self._runtime.clock())


async def open_run(session: AsyncSession, claim: Claim, context: RunContext) -> JournalState:
    """Begin a run, or take it up again; a key that another run has already is answered with that run."""
    await _check_claim(session, claim)
    conversation_id = conversation_of(context.session)
    known: PipelineRun | None = await session.scalar(
        select(PipelineRun).where(
            PipelineRun.conversation_id == conversation_id, PipelineRun.idempotency_key == context.idempotency_key
        )
    )
    if known is None:
        session.add(
            PipelineRun(
                id=UUID(context.run_id),
                conversation_id=conversation_id,
                run_id=claim.run_id,
                profile_id=UUID(context.profile.id),
                profile_version=context.profile.version,
                trigger=context.trigger,
                idempotency_key=context.idempotency_key,
                turn=context.turn,
                message_id=id_of(context.turn_id),
                swipe_id=id_of(context.variant_id),
                created_at=context.now,
            )
        )
        return JournalState(run_id=context.run_id, last_done=await _last_done(session, context))
    if known.report is not None or str(known.id) != context.run_id:
        report = None if known.report is None else _read(known.report, RunReport)
        return JournalState(run_id=str(known.id), attempt=known.attempt, report=report)
    known.attempt += 1
    return JournalState(
        run_id=context.run_id,
        attempt=known.attempt,
        records=await _records(session, known.id),
        last_done=await _last_done(session, context),
    )


async def record_step(
    session: AsyncSession,
    claim: Claim,
    context: RunContext,
    record: StepRecord,
    writes: Sequence[ArtifactWrite] | None = None,
    *,
    ids: Callable[[], UUID],
) -> tuple[Commit, ...]:
    """Keep what a step has come to, in place of what was kept of it before; with `writes`, do them all and note in the
    record that they are done. What the store raises leaves the transaction to be rolled back as a whole."""
    await _check_claim(session, claim)
    run_id = UUID(context.run_id)
    place, hook = _place_of(context.profile, record)
    step: PipelineStepRun | None = await session.scalar(
        select(PipelineStepRun).filter_by(pipeline_run_id=run_id, hook=hook, pipeline=record.pipeline, step=record.step)
    )
    if step is None:
        step = PipelineStepRun(
            id=ids(), pipeline_run_id=run_id, hook=hook, pipeline=record.pipeline, step=record.step, position=place
        )
        session.add(step)
    step.status, step.started_at, step.finished_at = record.status, record.started_at, record.ended_at
    step.error = None if record.code is None else {"code": record.code, "message": record.message}
    step.output = _written(record)
    await session.flush()
    if writes is None:
        return ()
    store = TransactionArtifactStore(session, ids=lambda: str(ids()))
    about = {"run_id": context.run_id, "step_run_id": str(step.id)}
    commits = tuple([await store.write(write.with_(**about)) for write in writes])
    versions = {commit.record.artifact.key.tag: commit.version.version for commit in commits}
    step.output = _written(record.with_(committed=versions))
    await session.flush()
    return commits


async def close_run(
    session: AsyncSession, claim: Claim, context: RunContext, report: RunReport, *, now: datetime
) -> None:
    """The run has ended, and nobody takes it up again: what its steps have made is forgotten, their logs stay."""
    await _check_claim(session, claim)
    run = await session.get_one(PipelineRun, UUID(context.run_id))
    run.status, run.finished_at, run.report = report.status, now, _written(report)
    logs = {(step.pipeline, step.step): _written(step) for step in report.steps}
    steps = await session.scalars(select(PipelineStepRun).where(PipelineStepRun.pipeline_run_id == run.id))
    for step in steps:
        step.output, step.log = None, logs.get((step.pipeline, step.step), {})
    await session.flush()


async def _check_claim(session: AsyncSession, claim: Claim) -> None:
    """Lock the conversation and then its run, as everybody does, and see whether the claim still holds."""
    await lock_conversation(session, claim.conversation_id)
    ours = await session.scalar(
        select(Run.id)
        .where(Run.id == claim.run_id, Run.fence == claim.fence, Run.status == "running")
        .with_for_update()
    )
    if ours is None:
        raise RunTakenError()


async def _records(session: AsyncSession, run_id: UUID) -> tuple[StepRecord, ...]:
    outputs = await session.scalars(
        select(PipelineStepRun.output)
        .where(PipelineStepRun.pipeline_run_id == run_id, PipelineStepRun.output.is_not(None))
        .order_by(PipelineStepRun.position)
    )
    return tuple(_read(output, StepRecord) for output in outputs)


async def _last_done(session: AsyncSession, context: RunContext) -> dict[str, int]:
    """The last turn in which each step was done, no further back than any step asks for."""
    steps = [step for pipeline in context.profile.pipelines for step in pipeline.steps]
    furthest = max((step.every_n_turns for step in steps), default=1)
    rows = await session.execute(
        select(PipelineStepRun.pipeline, PipelineStepRun.step, func.max(PipelineRun.turn))
        .join(PipelineRun, PipelineRun.id == PipelineStepRun.pipeline_run_id)
        .where(
            PipelineRun.conversation_id == conversation_of(context.session),
            PipelineRun.turn < context.turn,
            PipelineRun.turn >= context.turn - furthest,
            PipelineRun.report.is_not(None),
            PipelineStepRun.status == "done",
        )
        .group_by(PipelineStepRun.pipeline, PipelineStepRun.step)
    )
    return {f"{pipeline}/{step}": turn for pipeline, step, turn in rows}


def _place_of(profile: Profile, record: StepRecord) -> tuple[int, str]:
    """Where the step stands among all of the profile's, and on which side of the main call."""
    steps = [(pipeline.id, step) for pipeline in profile.pipelines for step in pipeline.steps]
    return next(
        (place, step.hook)
        for place, (pipeline, step) in enumerate(steps)
        if (pipeline, step.id) == (record.pipeline, record.step)
    )


def _written(value: Value) -> dict[str, Json]:
    written: dict[str, Json] = msgspec.to_builtins(value)
    return written


def _read(source: Json, kind: type[T]) -> T:
    return msgspec.convert(source, kind)
