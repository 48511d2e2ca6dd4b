"""What workers do to runs, one transaction each.

A worker's writes carry the fence of its claim: once the run has been taken from it, they match nothing. Everybody locks
in the same order: the owner and the space where they are needed, the conversation, then its run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import ColumnElement, exists, func, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Conversation, Message, Round, Run, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import stored
from tavernkit.playground.base.realtime.bus import RUNS
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import lock_conversation, lock_story, lock_totals
from tavernkit.playground.story.artifacts.journal import abandon_pipelines, can_be_taken_up
from tavernkit.playground.story.paths.pictures import Expression
from tavernkit.playground.story.paths.variables import GlobalChanges, change_globals
from tavernkit.playground.story.prompting.records import PromptRecord, keep_prompt
from tavernkit.playground.story.prompting.replies import Usage, count_usage
from tavernkit.playground.story.prompting.streams_kept import StreamRecord, keep_stream
from tavernkit.playground.story.runs.planner import TRANSITIONS, RunStatus
from tavernkit.playground.story.runs.queries import active_round
from tavernkit.playground.story.runs.rounds import freeze_round, go_on, skip_slot, slot_at, turn_taken
from tavernkit.playground.story.runs.speakers import can_speak
from tavernkit.playground.story.runs.storing import ReplyIds, Wordings, keep_wordings, store_reply
from tavernkit.playground.story.usage.ledger import Measured
from tavernkit.values import Json, Value

INTERRUPTED = stored(
    "interrupted", _("The application stopped while the reply was being written. The text so far is kept.")
)
UNAVAILABLE = stored("speaker_unavailable", _("The speaker has left or was muted in the meantime."))


class Claim(Value, frozen=True, kw_only=True):
    """A worker's right to a run, for as long as its lease and its fence hold."""

    run_id: UUID
    conversation_id: UUID
    speaker_id: UUID
    fence: int

    async def holds(self, session: AsyncSession) -> bool:
        """Whether the run is still ours, in a transaction that now has the lock of its conversation."""
        await lock_conversation(session, self.conversation_id)
        return await _owned(session, self) is not None


async def claim_runs(runtime: Runtime, worker: str, limit: int) -> list[Claim]:
    """Take the runs that have been due longest, at most so many, in conversations where nothing is running.

    A run whose speaker may not speak any more is passed over, and its round goes on with the next.
    """
    while True:
        try:
            async with runtime.database.write() as session:
                due = await _due(session, await runtime.lease_clock.now(session), limit)
                claims = [await _claim(session, runtime, run, speaker, worker) for run, speaker in due]
        except IntegrityError:
            # Another worker was faster: the index allows one running run per conversation.
            return []
        if not due or any(claims):
            return [claim for claim in claims if claim is not None]


async def seconds_until_due(runtime: Runtime) -> float | None:
    """How long the next of the runs that wait still has to, if there is one; less than nothing when it is due."""
    other = aliased(Run)
    async with runtime.database.read() as session:
        due: datetime | None = await session.scalar(
            select(func.min(Run.run_after)).where(
                Run.status == "queued",
                ~exists().where(other.conversation_id == Run.conversation_id, other.status == "running"),
            )
        )
        return None if due is None else (due - await runtime.lease_clock.now(session)).total_seconds()


async def _due(session: AsyncSession, now: datetime, limit: int) -> list[tuple[Run, SpaceMembership]]:
    """Runs that can be begun, with their speakers; they and their conversations are locked, and those that somebody
    else has locked are left to others."""
    other = aliased(Run)
    rows = await session.execute(
        select(Run, SpaceMembership)
        .join(Conversation, Conversation.id == Run.conversation_id)
        .join(SpaceMembership, SpaceMembership.id == Run.speaker_membership_id)
        .where(
            Run.status == "queued",
            Run.run_after <= now,
            ~exists().where(other.conversation_id == Run.conversation_id, other.status == "running"),
        )
        .order_by(Run.run_after, Run.created_at)
        .limit(limit)
        .with_for_update(of=[Conversation, Run], skip_locked=True)
        .execution_options(populate_existing=True)
    )
    return [(run, speaker) for run, speaker in rows]


async def _claim(
    session: AsyncSession, runtime: Runtime, run: Run, speaker: SpaceMembership, worker: str
) -> Claim | None:
    now = runtime.clock()
    if speaker.status != "active" or (run.round_id is not None and not can_speak(speaker, run.conversation_id)):
        await _pass_over(session, runtime, run)
        return None
    run.status, run.worker, run.fence = "running", worker, run.fence + 1
    run.started_at, run.cancel_requested_at, run.text = now, None, ""
    await _lease(session, runtime, run)
    await session.flush()
    await append_event(session, run.conversation_id, "run", now, run_id=str(run.id))
    return _claim_on(run)


def _claim_on(run: Run) -> Claim:
    return Claim(
        run_id=run.id,
        conversation_id=run.conversation_id,
        speaker_id=run.speaker_membership_id,
        fence=run.fence,
    )


async def _pass_over(session: AsyncSession, runtime: Runtime, run: Run) -> None:
    now = runtime.clock()
    run.status, run.finished_at, run.dismissed, run.error = "skipped", now, True, UNAVAILABLE
    await session.flush()
    await append_event(session, run.conversation_id, "run", now, run_id=str(run.id))
    round = await active_round(session, run.conversation_id)
    if round is not None and round.id == run.round_id and round.scheduling_state == "ai_generating":
        conversation = await session.get_one(Conversation, run.conversation_id)
        await skip_slot(session, runtime, conversation, round, reason="speaker_unavailable")


class Lease(NamedTuple):
    """A run that is still the worker's: whether somebody has asked to stop it, and whether it has more time now."""

    stop_asked: bool
    is_extended: bool


async def extend_leases(runtime: Runtime, claims: Collection[Claim]) -> dict[UUID, Lease]:
    """Say that runs are alive. One that is not ours any more is left out.

    A run that is being written to is passed over, and is not extended: who does so may wait for a lock, and the other
    leases cannot. Whoever calls tries again soon.
    """
    keys = [(claim.run_id, claim.fence) for claim in claims]
    ours = select(Run.id).where(tuple_(Run.id, Run.fence).in_(keys), Run.status == "running")
    async with runtime.database.write() as session:
        now = await runtime.lease_clock.now(session)
        extended = set(
            await session.scalars(
                update(Run)
                .where(Run.id.in_(ours.with_for_update(skip_locked=True)))
                .values(heartbeat_at=now, lease_expires_at=_lease_end(runtime, now))
                .returning(Run.id),
                execution_options={"synchronize_session": False},
            )
        )
        rows = await session.execute(ours.with_only_columns(Run.id, Run.cancel_requested_at))
        return {run_id: Lease(asked_at is not None, run_id in extended) for run_id, asked_at in rows}


async def checkpoint_run(runtime: Runtime, claim: Claim, text: str, *, prompt: PromptRecord | None = None) -> None:
    """Write down what has been generated so far, and the first time the prompt too."""
    async with runtime.database.write() as session:
        written = await session.scalar(update(Run).where(*_ours(claim)).values(text=text).returning(Run.id))
        if prompt is not None and written is not None:
            await keep_prompt(session, claim.run_id, prompt, runtime.clock())


async def finish_run(
    runtime: Runtime,
    claim: Claim,
    text: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    state_delta: Mapping[str, Json] | None = None,
    usage: Usage | None = None,
    measured: Measured | None = None,
    prompt: PromptRecord | None = None,
    stream: StreamRecord | None = None,
    model: str | None = None,
    debug: dict[str, Any] | None = None,
    ids: ReplyIds | None = None,
    wordings: Wordings | None = None,
    global_changes: GlobalChanges | None = None,
    expression: Expression | None = None,
    goes_on: bool = False,
) -> Message | None:
    """The reply is complete: its message with what it does to the state, what it used, the prompt it answers,
    the end of the run and the event, all or nothing.

    A run that `goes_on` has steps behind its reply, and ends with `end_run`. None when the run is not ours any more, or
    was not wanted any more, and nothing was written.
    """
    now = runtime.clock()
    figures = {} if usage is None else {name: getattr(usage, name) for name in usage.__struct_fields__}
    async with runtime.database.write() as session:
        owner_id, space_id = await lock_totals(session, claim.conversation_id)
        conversation = await lock_conversation(session, claim.conversation_id)
        run = await _owned(session, claim)
        if run is None:
            return None
        if run.cancel_requested_at is not None:
            # Somebody did not want it any more, a moment before it was complete.
            await _end(session, run, "canceled", now, text=text)
            await _append_end_event(session, run, prompt, now)
            return None
        run.replied_at, run.text, run.model, run.debug = now, text, model, debug or {}
        for name, figure in figures.items():
            setattr(run, name, figure)
        if not goes_on:
            await _end(session, run, "succeeded", now, dismissed=True)
        if usage is not None:
            await count_usage(session, owner_id, space_id, claim.conversation_id, usage)
        if measured is not None:
            await measured.meter.record(session, owner_id, measured.spent)
        message = await store_reply(
            session,
            runtime,
            run,
            text=text,
            metadata=metadata or {},
            state_delta=state_delta,
            now=now,
            ids=ids,
            expression=expression,
        )
        if global_changes is not None:
            await change_globals(session, owner_id, global_changes, now)
        if wordings is not None:
            await keep_wordings(session, wordings)
        if not goes_on:
            announce(session, RUNS, finished=str(claim.run_id))
            await turn_taken(session, runtime, conversation, run, message)
        if prompt is not None:
            await keep_prompt(session, claim.run_id, prompt, now)
        if stream is not None:
            await keep_stream(session, claim.run_id, stream, now)
        return message


async def end_run(runtime: Runtime, claim: Claim) -> bool:
    """What came behind the reply is over; the turn is taken."""
    async with runtime.database.write() as session:
        conversation = await lock_story(session, claim.conversation_id)
        run = await _owned(session, claim)
        if run is None:
            return False
        await _end_behind_reply(session, runtime, conversation, run, runtime.clock())
        return True


async def fail_run(
    runtime: Runtime, claim: Claim, text: str, error: dict[str, Any], *, prompt: PromptRecord | None = None
) -> bool:
    """The run went wrong; what it had written stays on it."""
    return await _end_without_message(runtime, claim, "failed", text, error, prompt)


async def cancel_run(runtime: Runtime, claim: Claim, text: str, *, prompt: PromptRecord | None = None) -> bool:
    """The run was stopped; what it had written stays on it for the person to keep or discard."""
    return await _end_without_message(runtime, claim, "canceled", text, None, prompt)


async def hand_back_run(
    runtime: Runtime, claim: Claim, text: str, *, prompt: PromptRecord | None = None, has_replied: bool = False
) -> None:
    """The worker stops: a run that has written nothing goes back into the queue, another ends with its text kept. Steps
    around a reply are left to be taken up."""
    if text and not has_replied:
        await fail_run(runtime, claim, text, INTERRUPTED, prompt=prompt)
        return
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation = await lock_story(session, claim.conversation_id)
        run = await _owned(session, claim)
        if run is None:
            return
        queued = await session.scalar(
            select(Run.id).where(Run.conversation_id == claim.conversation_id, Run.status == "queued")
        )
        if await session.scalar(select(Run.id).where(Run.id == run.id, can_be_taken_up())) is not None:
            # Whoever looks next takes it up, behind the last step that has ended.
            run.worker, run.lease_expires_at = None, await runtime.lease_clock.now(session)
            await session.flush()
        elif run.replied_at is not None:
            await _end_behind_reply(session, runtime, conversation, run, now)
            return
        elif run.cancel_requested_at is not None:
            await _end(session, run, "canceled", now)
        elif queued is not None or run.text:
            # What was written down stays, although whoever hands the run back has none of it.
            await _end(session, run, "failed", now, error=INTERRUPTED)
            await freeze_round(session, runtime, conversation, run)
        else:
            run.status, run.worker, run.lease_expires_at = "queued", None, None
            await session.flush()
            announce(session, RUNS, queued=str(claim.run_id))
        await _append_end_event(session, run, prompt, now)


async def take_up_runs(runtime: Runtime, worker: str, limit: int) -> list[Claim]:
    """Take the runs whose worker is gone, and which can go on behind the last of their steps."""
    async with runtime.database.read() as session:
        now = await runtime.lease_clock.now(session)
        left = select(Run).where(Run.status == "running", Run.lease_expires_at <= now, can_be_taken_up()).limit(limit)
        if await session.scalar(left.with_only_columns(Run.id)) is None:
            return []
    async with runtime.database.write() as session:
        found = (await session.scalars(left.with_for_update(skip_locked=True))).all()
        for run in found:
            run.worker, run.fence = worker, run.fence + 1
            await _lease(session, runtime, run)
        await session.flush()
        return [_claim_on(run) for run in found]


async def reap_runs(runtime: Runtime) -> int:
    """End the runs whose worker has not been heard of for longer than its lease, unless somebody can take them up."""
    async with runtime.database.read() as session:
        now = await runtime.lease_clock.now(session)
        lost = select(Run).where(Run.status == "running", Run.lease_expires_at < now, ~can_be_taken_up())
        found = (await session.execute(lost.with_only_columns(Run.id, Run.conversation_id))).all()
    reaped = 0
    for run_id, conversation_id in found:
        async with runtime.database.write() as session:
            conversation = await lock_story(session, conversation_id)
            run: Run | None = await session.scalar(lost.where(Run.id == run_id))
            if run is not None:
                await _end_left(session, runtime, conversation, run)
                reaped += 1
    return reaped


async def end_if_left(session: AsyncSession, runtime: Runtime, conversation: Conversation, run: Run) -> None:
    """End a run that somebody has asked to stop and that no worker can hear of; the space and the conversation are
    locked.

    No worker has it when its lease has run out, or when it was last heard of at a time that is still to come.
    """
    now = await runtime.lease_clock.now(session)
    expires, heard = run.lease_expires_at or now, run.heartbeat_at or now
    if run.status == "running" and (expires <= now or heard > _lease_end(runtime, now)):
        await _end_left(session, runtime, conversation, run)


async def _end_left(session: AsyncSession, runtime: Runtime, conversation: Conversation, run: Run) -> None:
    """End a run whose worker is gone, with its text kept; should the worker come back, it can write nothing."""
    now = runtime.clock()
    run.fence += 1
    if run.replied_at is not None:
        await _end_behind_reply(session, runtime, conversation, run, now)
        return
    if run.cancel_requested_at is None:
        await _end(session, run, "failed", now, error=INTERRUPTED)
        await freeze_round(session, runtime, conversation, run)
    else:
        await _end(session, run, "canceled", now)
    await _append_end_event(session, run, None, now)


async def repair_rounds(runtime: Runtime) -> int:
    """Move on the rounds that wait for a reply which nobody is going to write."""
    waiting = select(Round.conversation_id).where(
        Round.status == "active",
        Round.scheduling_state == "ai_generating",
        ~exists().where(Run.conversation_id == Round.conversation_id, Run.status.in_(("queued", "running"))),
    )
    async with runtime.database.read() as session:
        found = list(await session.scalars(waiting))
    repaired = 0
    for conversation_id in found:
        async with runtime.database.write() as session:
            conversation = await lock_story(session, conversation_id)
            if await session.scalar(waiting.where(Round.conversation_id == conversation_id)) is None:
                continue
            await _repair(session, runtime, conversation)
            repaired += 1
    return repaired


async def _repair(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> None:
    round = await active_round(session, conversation.id)
    if round is None:
        return
    spoken: Run | None = await session.scalar(
        select(Run).where(
            Run.round_id == round.id, Run.round_position == round.current_position, Run.status == "succeeded"
        )
    )
    slot = await slot_at(session, round, round.current_position)
    if spoken is not None and slot is not None and slot.status == "pending":
        slot.status, slot.finished_at = "spoken", runtime.clock()
    await go_on(session, runtime, conversation, round, at=round.current_position)


async def _lease(session: AsyncSession, runtime: Runtime, run: Run) -> None:
    """Give the run to its worker, from now on."""
    now = await runtime.lease_clock.now(session)
    run.heartbeat_at, run.lease_expires_at = now, _lease_end(runtime, now)


def _lease_end(runtime: Runtime, now: datetime) -> datetime:
    return now + timedelta(seconds=runtime.settings.lease_seconds)


def _ours(claim: Claim) -> tuple[ColumnElement[bool], ...]:
    return Run.id == claim.run_id, Run.fence == claim.fence, Run.status == "running"


async def _owned(session: AsyncSession, claim: Claim) -> Run | None:
    """The run as it is now, or None when it is not ours any more; its conversation is locked already."""
    return await session.scalar(
        select(Run).where(*_ours(claim)).with_for_update().execution_options(populate_existing=True)
    )


async def _end_behind_reply(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, run: Run, now: datetime
) -> None:
    """End a run whose reply is stored; however its steps went, the turn is taken."""
    await _end(session, run, "succeeded", now, dismissed=True)
    await _append_end_event(session, run, None, now)
    message: Message | None = await session.scalar(select(Message).where(Message.run_id == run.id))
    if message is not None:
        await turn_taken(session, runtime, conversation, run, message)


async def _end(session: AsyncSession, run: Run, status: RunStatus, now: datetime, **values: Any) -> None:
    if status not in TRANSITIONS[cast("RunStatus", run.status)]:
        raise ValueError(f"a {run.status} run cannot become {status}")
    run.status, run.finished_at, run.lease_expires_at = status, now, None
    for name, value in values.items():
        setattr(run, name, value)
    await session.flush()
    await abandon_pipelines(session, run.id, now)


async def _append_end_event(session: AsyncSession, run: Run, prompt: PromptRecord | None, now: datetime) -> None:
    await append_event(session, run.conversation_id, "run", now, run_id=str(run.id))
    if prompt is not None:
        await keep_prompt(session, run.id, prompt, now)
    announce(session, RUNS, finished=str(run.id))


async def _end_without_message(
    runtime: Runtime,
    claim: Claim,
    status: RunStatus,
    text: str,
    error: dict[str, Any] | None,
    prompt: PromptRecord | None,
) -> bool:
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation = await lock_story(session, claim.conversation_id)
        run = await _owned(session, claim)
        if run is None:
            return False
        if run.replied_at is not None:
            await _end_behind_reply(session, runtime, conversation, run, now)
            return True
        if run.cancel_requested_at is not None:
            status, error = "canceled", None
        await _end(session, run, status, now, text=text, error=error)
        await _append_end_event(session, run, prompt, now)
        if status == "failed":
            await freeze_round(session, runtime, conversation, run)
        return True
