"""The journal of pipelines in the database: what steps have come to, committed together with what they write.

Every transaction holds the lock of the conversation and looks whether the worker's claim still holds: once the run has
been taken from it, nothing is written. Whoever takes it up finds the steps that are done, and does not repeat them.
What the claim is on is all the same here: a run of the conversation, or a job. A run that nobody is going to take up is
ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar, cast
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts import ArtifactWrite, Commit
from tavernkit.artifacts.pipelines import JournalState, ModelUsage, Profile, RunContext, RunReport, StepRecord
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import ArtifactVersion, Message, PipelineRun, PipelineStepRun, Run
from tavernkit.playground.base.jobs.service import forget_outputs
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import lock_totals
from tavernkit.playground.story.artifacts.path import is_of_active_swipe
from tavernkit.playground.story.artifacts.store import TransactionArtifactStore, conversation_of, id_of
from tavernkit.playground.story.prompting.replies import count_usage, used_by_steps
from tavernkit.values import Json, Value

MOST_ATTEMPTS = 5
"""How often a run is begun or taken up, so that a step that takes its worker down does not do so for ever."""

ABANDONED = "The run was interrupted and is not taken up again."


def can_be_taken_up() -> ColumnElement[bool]:
    """Whether a run of a conversation has steps to go on with, and no half of a reply in between."""
    is_open = exists().where(
        PipelineRun.run_id == Run.id, PipelineRun.report.is_(None), PipelineRun.attempt < MOST_ATTEMPTS
    )
    return is_open & Run.cancel_requested_at.is_(None) & ((Run.text == "") | Run.replied_at.is_not(None))


async def abandon_pipelines(session: AsyncSession, run_id: UUID, now: datetime) -> None:
    """End what a run of a conversation leaves open, since it has ended itself; what steps have made is forgotten."""
    left = (
        await session.scalars(select(PipelineRun).where(PipelineRun.run_id == run_id, PipelineRun.report.is_(None)))
    ).all()
    for run in left:
        await _abandon(session, run, now, ABANDONED)
    await session.flush()


async def abandon_pipeline_run(session: AsyncSession, pipeline_run_id: UUID, now: datetime, why: str) -> None:
    """End a run of pipelines that belongs to no reply, if it has not ended by itself."""
    run = await session.get_one(PipelineRun, pipeline_run_id, populate_existing=True)
    if run.report is None:
        await _abandon(session, run, now, why)
        await session.flush()


async def _abandon(session: AsyncSession, run: PipelineRun, now: datetime, why: str) -> None:
    report = RunReport(
        run_id=str(run.id),
        idempotency_key=run.idempotency_key,
        profile_id="" if run.profile_id is None else str(run.profile_id),
        profile_version=run.profile_version,
        trigger=cast("PipelineTrigger", run.trigger),
        turn=run.turn,
        status="aborted",
        message=why,
    )
    run.status, run.finished_at, run.report = "aborted", now, msgspec.to_builtins(report)
    await forget_outputs(session, run.id)


T = TypeVar("T", bound=Value)

UPDATED = "artifact.updated"
"""The event of a new version."""

STEPS_ENDED = "steps"
"""The event that tells that steps have failed, or do not count as failed any more."""


class RunTakenError(TavernKitError):
    """The run is another worker's now, or has ended: nothing was written."""

    def __init__(self) -> None:
        super().__init__("The run was taken over or has ended in the meantime. Nothing was written.")


class Guard(Protocol):
    """A worker's right to write in a conversation; `run_id` is the run of the conversation that it has, if any."""

    @property
    def conversation_id(self) -> UUID: ...

    @property
    def run_id(self) -> UUID | None: ...

    async def holds(self, session: AsyncSession) -> bool:
        """Lock the conversation, then what the claim is on, as everybody does, and see whether it is still ours."""


class DatabaseJournal:
    """A journal of which each method is a transaction of its own, written by the worker that has the claim.

    `until_seq` is the last message that the run knows. A worker that `is_leaving` ends nothing: another takes the run
    up.
    """

    def __init__(
        self, runtime: Runtime, claim: Guard, *, until_seq: int = 0, is_leaving: Callable[[], bool] = lambda: False
    ) -> None:
        self._runtime = runtime
        self._claim = claim
        self._until_seq = until_seq
        self._is_leaving = is_leaving

    async def open(self, context: RunContext) -> JournalState:
        async with self._runtime.database.write() as session:
            return await open_run(session, self._claim, context, until_seq=self._until_seq)

    async def record(self, context: RunContext, record: StepRecord) -> None:
        try:
            async with self._runtime.database.write() as session:
                await record_step(session, self._claim, context, record, ids=self._runtime.ids)
        except RunTakenError:
            # Whoever has the run now does the step anew; what was used here is in no record, and counts all the same.
            async with self._runtime.database.write() as session:
                await self._count(session, [record.usage])
            raise

    async def commit(
        self, context: RunContext, record: StepRecord, writes: tuple[ArtifactWrite, ...]
    ) -> tuple[Commit, ...]:
        async with self._runtime.database.write() as session:
            return await record_step(session, self._claim, context, record, writes, ids=self._runtime.ids)

    async def close(self, context: RunContext, report: RunReport) -> None:
        if self._is_leaving():
            return
        async with self._runtime.database.write() as session:
            await self._count(session, (step.usage for step in report.steps))
            await close_run(session, self._claim, context, report, now=self._runtime.clock())

    async def _count(self, session: AsyncSession, used: Iterable[ModelUsage]) -> None:
        owner_id, space_id = await lock_totals(session, self._claim.conversation_id)
        await count_usage(session, owner_id, space_id, self._claim.conversation_id, used_by_steps(used))


async def open_run(session: AsyncSession, claim: Guard, context: RunContext, *, until_seq: int = 0) -> JournalState:
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
                until_seq=until_seq,
                created_at=context.now,
            )
        )
        return JournalState(run_id=context.run_id, last_done=await last_done(session, context))
    if known.report is not None or str(known.id) != context.run_id:
        report = None if known.report is None else _read(known.report, RunReport)
        return JournalState(run_id=str(known.id), attempt=known.attempt, report=report)
    known.attempt += 1
    outputs = await session.scalars(
        select(PipelineStepRun.output)
        .where(PipelineStepRun.pipeline_run_id == known.id, PipelineStepRun.output.is_not(None))
        .order_by(PipelineStepRun.position)
    )
    return JournalState(
        run_id=context.run_id,
        attempt=known.attempt,
        records=tuple(_read(output, StepRecord) for output in outputs),
        last_done=await last_done(session, context),
    )


async def record_step(
    session: AsyncSession,
    claim: Guard,
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
    commits = tuple(
        [await store.write(write.with_(run_id=context.run_id, step_run_id=str(step.id))) for write in writes]
    )
    versions = {commit.artifact.key.tag: commit.version.version for commit in commits}
    step.output = _written(record.with_commits(commits))
    await session.flush()
    for tag, version in versions.items():
        await append_event(session, claim.conversation_id, UPDATED, record.ended_at, tag=tag, version=version)
    return commits


async def close_run(
    session: AsyncSession, claim: Guard, context: RunContext, report: RunReport, *, now: datetime
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
    # A run by itself may have done what had failed.
    if claim.run_id is None or any(step.status == "error" for step in report.steps):
        about = {} if context.turn_id is None else {"message_id": context.turn_id}
        await append_event(session, claim.conversation_id, STEPS_ENDED, now, **about)


async def _check_claim(session: AsyncSession, claim: Guard) -> None:
    if not await claim.holds(session):
        raise RunTakenError()


async def last_done(session: AsyncSession, context: RunContext) -> dict[str, int]:
    """The last turn on the path in which each step was done, no further back than any step asks for: what was done for
    a reply that never came, or for another swipe, is not. A branch has its runs only since it left, and knows of
    those before by what they have written."""
    steps = [step for pipeline in context.profile.pipelines for step in pipeline.steps]
    furthest = max((step.every_n_turns for step in steps), default=1)
    if furthest == 1:
        return {}

    def is_recent(of: type[ArtifactVersion | PipelineRun]) -> ColumnElement[bool]:
        return and_(
            of.message_id.is_(None) | is_of_active_swipe(of.swipe_id),
            of.conversation_id == conversation_of(context.session),
            of.turn.between(context.turn - furthest, context.turn - 1),
        )

    written = (
        select(ArtifactVersion.pipeline, ArtifactVersion.step, func.max(ArtifactVersion.turn))
        .outerjoin(Message, Message.id == ArtifactVersion.message_id)
        .where(is_recent(ArtifactVersion), ArtifactVersion.pipeline.is_not(None))
        .group_by(ArtifactVersion.pipeline, ArtifactVersion.step)
    )
    ended = (
        select(PipelineStepRun.pipeline, PipelineStepRun.step, func.max(PipelineRun.turn))
        .join(PipelineRun, PipelineRun.id == PipelineStepRun.pipeline_run_id)
        .outerjoin(Message, Message.id == PipelineRun.message_id)
        .where(is_recent(PipelineRun), PipelineRun.report.is_not(None), PipelineStepRun.status == "done")
        .group_by(PipelineStepRun.pipeline, PipelineStepRun.step)
    )
    done: dict[str, int] = {}
    for pipeline, step, turn in [*await session.execute(written), *await session.execute(ended)]:
        done[f"{pipeline}/{step}"] = max(turn, done.get(f"{pipeline}/{step}", 0))
    return done


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
