"""Every change of a run, one transaction each.

A worker's writes carry the fence of its claim: once the run has been taken from it, they match nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import exists, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.conversations.queries import active_run, find_conversation, last_run
from tavernkit.playground.database import announce
from tavernkit.playground.database.models import Message, Run
from tavernkit.playground.messages.writing import add_message
from tavernkit.playground.outcome import Refused
from tavernkit.playground.prompting.records import PromptRecord, keep_prompt
from tavernkit.playground.realtime.bus import RUNS
from tavernkit.playground.realtime.outbox import append_event
from tavernkit.playground.runs.planner import plan_run
from tavernkit.playground.runs.queries import find_run
from tavernkit.playground.runs.states import TRANSITIONS, RunStatus
from tavernkit.playground.runs.storing import Usage, count_usage, lock_totals, store_reply
from tavernkit.playground.runtime import Runtime
from tavernkit.values import Json, Value

__all__ = [
    "Claim",
    "cancel_run",
    "checkpoint_run",
    "claim_run",
    "discard_text",
    "extend_lease",
    "fail_run",
    "finish_run",
    "hand_back_run",
    "keep_text",
    "reap_runs",
    "request_stop",
    "retry",
]

INTERRUPTED = {
    "code": "interrupted",
    "message": "The reply was interrupted because the application stopped. What had been written is kept.",
}


class Claim(Value, frozen=True, kw_only=True):
    """A worker's right to a run, for as long as its lease and its fence hold."""

    run_id: UUID
    conversation_id: UUID
    speaker_id: UUID
    fence: int


async def claim_run(runtime: Runtime, worker: str) -> Claim | None:
    """Take the run that has been due longest in a conversation where nothing is running."""
    now = runtime.clock()
    other = aliased(Run)
    due = (
        select(Run.id)
        .where(
            Run.status == "queued",
            Run.run_after <= now,
            ~exists().where(other.conversation_id == Run.conversation_id, other.status == "running"),
        )
        .order_by(Run.run_after, Run.created_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    try:
        async with runtime.database.write() as session:
            claimed = await session.execute(
                update(Run)
                .where(Run.id.in_(due.scalar_subquery()), Run.status == "queued")
                .values(
                    status="running",
                    worker=worker,
                    fence=Run.fence + 1,
                    started_at=now,
                    heartbeat_at=now,
                    lease_expires_at=_lease_end(runtime, now),
                    cancel_requested_at=None,
                    text="",
                )
                .returning(Run.id, Run.conversation_id, Run.speaker_membership_id, Run.fence)
            )
            row = claimed.one_or_none()
            if row is None:
                return None
            await append_event(session, row.conversation_id, "run", now, run_id=str(row.id))
            return Claim(
                run_id=row.id,
                conversation_id=row.conversation_id,
                speaker_id=row.speaker_membership_id,
                fence=row.fence,
            )
    except IntegrityError:
        # Another worker was faster: the index allows one running run per conversation.
        return None


async def extend_lease(runtime: Runtime, claim: Claim) -> bool | None:
    """Say that the run is alive. Answers whether it is to be stopped, or None when it is not ours any more."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        row = (
            await session.execute(
                _ours(claim)
                .values(heartbeat_at=now, lease_expires_at=_lease_end(runtime, now))
                .returning(Run.cancel_requested_at)
            )
        ).one_or_none()
        return None if row is None else row.cancel_requested_at is not None


async def checkpoint_run(runtime: Runtime, claim: Claim, text: str, *, prompt: PromptRecord | None = None) -> None:
    """Write down what has been generated so far, and the first time the prompt too."""
    async with runtime.database.write() as session:
        written = await session.execute(_ours(claim).values(text=text).returning(Run.id))
        if prompt is not None and written.one_or_none() is not None:
            await keep_prompt(session, claim.run_id, prompt, runtime.clock())


async def finish_run(
    runtime: Runtime,
    claim: Claim,
    text: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    state_delta: Mapping[str, Json] | None = None,
    usage: Usage | None = None,
    prompt: PromptRecord | None = None,
    debug: dict[str, Any] | None = None,
) -> Message | None:
    """The reply is complete: its message with what it does to the story's state, what it used, the prompt it answers,
    the end of the run and the event, all or nothing.

    None when the run is not ours any more, and nothing was written.
    """
    now = runtime.clock()
    figures = {} if usage is None else {name: getattr(usage, name) for name in usage.__struct_fields__}
    async with runtime.database.write() as session:
        totals = None if usage is None else await lock_totals(session, claim.conversation_id)
        ended = await _end(session, claim, "succeeded", now, text=text, debug=debug or {}, dismissed=True, **figures)
        if ended is None:
            return None
        if usage is not None and totals is not None:
            await count_usage(session, *totals, claim.conversation_id, usage)
        message = await store_reply(
            session,
            runtime,
            run_id=claim.run_id,
            kind=ended.kind,
            conversation_id=claim.conversation_id,
            speaker_id=claim.speaker_id,
            target_id=ended.target_message_id,
            text=text,
            metadata=metadata or {},
            state_delta=state_delta,
            now=now,
        )
        if prompt is not None:
            await keep_prompt(session, claim.run_id, prompt, now)
        announce(session, RUNS, finished=str(claim.run_id))
        return message


async def fail_run(
    runtime: Runtime, claim: Claim, text: str, error: dict[str, Any], *, prompt: PromptRecord | None = None
) -> bool:
    """The run went wrong; what it had written stays on it."""
    return await _end_without_message(runtime, claim, "failed", text, error, prompt)


async def cancel_run(runtime: Runtime, claim: Claim, text: str, *, prompt: PromptRecord | None = None) -> bool:
    """The run was stopped; what it had written stays on it for the person to keep or discard."""
    return await _end_without_message(runtime, claim, "canceled", text, None, prompt)


async def hand_back_run(runtime: Runtime, claim: Claim, text: str, *, prompt: PromptRecord | None = None) -> None:
    """The worker stops: a run that has written nothing goes back into the queue, another ends with its text kept."""
    if text:
        await fail_run(runtime, claim, text, INTERRUPTED, prompt=prompt)
        return
    now = runtime.clock()
    async with runtime.database.write() as session:
        queued = await session.scalar(
            select(Run.id).where(Run.conversation_id == claim.conversation_id, Run.status == "queued")
        )
        if queued is not None:
            await _end(session, claim, "failed", now, error=INTERRUPTED)
        else:
            await session.execute(_ours(claim).values(status="queued", worker=None, lease_expires_at=None))
        await append_event(session, claim.conversation_id, "run", now, run_id=str(claim.run_id))
        announce(session, RUNS, queued=str(claim.run_id))


async def reap_runs(runtime: Runtime) -> int:
    """End the runs whose worker has not been heard of for longer than its lease."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        reaped = (
            await session.execute(
                update(Run)
                .where(Run.status == "running", Run.lease_expires_at < now)
                .values(status="failed", finished_at=now, fence=Run.fence + 1, error=INTERRUPTED)
                .returning(Run.id, Run.conversation_id)
            )
        ).all()
        for run_id, conversation_id in reaped:
            await append_event(session, conversation_id, "run", now, run_id=str(run_id))
        if reaped:
            announce(session, RUNS, reaped=len(reaped))
        return len(reaped)


async def request_stop(runtime: Runtime, run_id: UUID, user_id: UUID) -> Run | Refused:
    """Stop a run: at once if it only waits, otherwise by telling its worker."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        run = await find_run(session, run_id, user_id, lock=True)
        if run is None:
            return _no_run()
        if run.status == "queued":
            run.status, run.finished_at, run.cancel_requested_at = "canceled", now, now
            await append_event(session, run.conversation_id, "run", now, run_id=str(run.id))
        elif run.status == "running":
            run.cancel_requested_at = now
            announce(session, RUNS, stop=str(run.id))
        return run


async def keep_text(runtime: Runtime, run_id: UUID, user_id: UUID) -> Message | Refused:
    """Make a message of what a stopped or failed run had written."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        run = await find_run(session, run_id, user_id, lock=True)
        if run is None:
            return _no_run()
        if run.dismissed or run.status not in ("failed", "canceled") or not run.text.strip():
            return Refused(code="nothing_to_keep", sentence="There is no interrupted text to keep any more.")
        run.dismissed = True
        message = await add_message(
            session,
            runtime.ids,
            conversation_id=run.conversation_id,
            id=runtime.ids(),
            membership_id=run.speaker_membership_id,
            role="assistant",
            content=run.text.strip(),
            run_id=run.id,
            now=now,
        )
        await append_event(session, run.conversation_id, "reply", now, run_id=str(run.id), message_id=str(message.id))
        return message


async def discard_text(runtime: Runtime, run_id: UUID, user_id: UUID) -> Run | Refused:
    """Settle a stopped or failed run without keeping its text."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        run = await find_run(session, run_id, user_id, lock=True)
        if run is None or run.status not in ("failed", "canceled"):
            return _no_run()
        run.dismissed = True
        await append_event(session, run.conversation_id, "run", now, run_id=str(run.id))
        return run


async def retry(runtime: Runtime, conversation_id: UUID, user_id: UUID) -> Run | Refused:
    """Ask the same speaker again after a run that failed or was stopped."""
    async with runtime.database.write() as session:
        conversation = await find_conversation(session, conversation_id, user_id, lock=True)
        if conversation is None:
            return Refused(code="no_conversation", sentence="That conversation is not here any more.")
        if await active_run(session, conversation_id) is not None:
            return Refused(code="generation_locked", sentence="A reply is already being written.")
        last = await last_run(session, conversation_id)
        if last is None or last.status not in ("failed", "canceled"):
            return Refused(code="nothing_to_retry", sentence="There is no reply that went wrong.")
        return await plan_run(
            session, runtime, conversation_id, last.speaker_membership_id, kind="user_turn", reason="retry"
        )


def _lease_end(runtime: Runtime, now: datetime) -> datetime:
    return now + timedelta(seconds=runtime.settings.lease_seconds)


def _ours(claim: Claim) -> Any:
    return update(Run).where(Run.id == claim.run_id, Run.fence == claim.fence, Run.status == "running")


async def _end(session: AsyncSession, claim: Claim, status: RunStatus, now: datetime, **values: Any) -> Any:
    """End the run; what it was for, or None when it is not ours any more."""
    if status not in TRANSITIONS["running"]:
        raise ValueError(f"a running run cannot become {status}")
    ended = await session.execute(
        _ours(claim)
        .values(status=status, finished_at=now, lease_expires_at=None, **values)
        .returning(Run.kind, Run.target_message_id)
    )
    return ended.one_or_none()


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
        if await _end(session, claim, status, now, text=text, error=error) is None:
            return False
        await append_event(session, claim.conversation_id, "run", now, run_id=str(claim.run_id))
        if prompt is not None:
            await keep_prompt(session, claim.run_id, prompt, now)
        announce(session, RUNS, finished=str(claim.run_id))
        return True


def _no_run() -> Refused:
    return Refused(code="no_run", sentence="That reply is not being written any more.")
