"""Queueing runs and taking them back, inside the transaction of whoever decides it; the life of a run and of a round.

Whoever calls anything here holds the lock of the conversation. One run waits at most: what is planned takes the place
of what was planned before.

queued  → running, canceled, skipped
running → succeeded, failed, canceled, skipped, and back to queued when a worker hands it back untouched

A round is active until it is finished, superseded by another, or canceled. While it is active, somebody is about to
speak (`ai_generating`), or it waits for a person: they paused it (`paused`), or a reply went wrong (`failed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Round, Run
from tavernkit.playground.base.realtime.bus import RUNS
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.runtime import Runtime

RunKind: TypeAlias = Literal["user_turn", "auto_mode", "regenerate", "force_talk", "copilot", "continue", "impersonate"]
RunStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "canceled", "skipped"]
SchedulingState: TypeAlias = Literal["ai_generating", "paused", "failed"]
RoundEnd: TypeAlias = Literal["finished", "superseded", "canceled"]

TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "canceled", "skipped"}),
    "running": frozenset({"succeeded", "failed", "canceled", "skipped", "queued"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "canceled": frozenset(),
    "skipped": frozenset(),
}
ACTIVE: frozenset[RunStatus] = frozenset({"queued", "running"})
FINAL: frozenset[RunStatus] = frozenset(TRANSITIONS) - ACTIVE

AGAINST_A_TARGET: frozenset[RunKind] = frozenset({"regenerate", "continue"})
"""Runs whose reply becomes another swipe of a message that is there."""

WRITTEN_FOR_A_PERSON: frozenset[RunKind] = frozenset({"copilot", "impersonate"})
"""Runs whose reply is what a person says."""


async def plan_run(
    session: AsyncSession,
    runtime: Runtime,
    conversation_id: UUID,
    speaker_id: UUID,
    *,
    kind: RunKind,
    reason: str,
    round: Round | None = None,
    position: int | None = None,
    target_id: UUID | None = None,
    limits: Mapping[str, Any] | None = None,
    delay_ms: int = 0,
) -> Run:
    """Queue a reply; what an earlier run left open for the person to decide is settled by it."""
    now = runtime.clock()
    await cancel_queued(session, runtime, conversation_id)
    await session.execute(
        update(Run).where(Run.conversation_id == conversation_id, ~Run.dismissed).values(dismissed=True)
    )
    run = Run(
        id=runtime.ids(),
        conversation_id=conversation_id,
        kind=kind,
        status="queued",
        reason=reason[:100],
        speaker_membership_id=speaker_id,
        round_id=None if round is None else round.id,
        round_position=position,
        target_message_id=target_id,
        limits=None if limits is None else dict(limits),
        run_after=await runtime.lease_clock.now(session) + timedelta(milliseconds=delay_ms),
        created_at=now,
    )
    session.add(run)
    await session.flush()
    await append_event(session, conversation_id, "run", now, run_id=str(run.id))
    announce(session, RUNS, queued=str(run.id))
    return run


async def cancel_queued(session: AsyncSession, runtime: Runtime, conversation_id: UUID) -> None:
    """Take back the run that waits, if there is one; nobody has to decide anything about it."""
    now = runtime.clock()
    canceled = await session.scalar(
        update(Run)
        .where(Run.conversation_id == conversation_id, Run.status == "queued")
        .values(status="canceled", finished_at=now, dismissed=True)
        .returning(Run.id)
    )
    if canceled is not None:
        await append_event(session, conversation_id, "run", now, run_id=str(canceled))


async def settle_undecided(session: AsyncSession, runtime: Runtime, conversation_id: UUID) -> None:
    """Let nobody have to decide any more about a reply that was cut short, because they went on without it."""
    settled = await session.scalar(
        update(Run)
        .where(Run.conversation_id == conversation_id, ~Run.dismissed, Run.status.in_(("failed", "canceled")))
        .values(dismissed=True)
        .returning(Run.id)
    )
    if settled is not None:
        await append_event(session, conversation_id, "run", runtime.clock(), run_id=str(settled))


async def leave_running(session: AsyncSession, runtime: Runtime, conversation_id: UUID) -> Run | None:
    """Ask the worker of the running reply, if there is one, to end it, because something else has taken its place."""
    running: Run | None = await session.scalar(
        select(Run).where(Run.conversation_id == conversation_id, Run.status == "running")
    )
    if running is not None:
        running.dismissed = True
        stop_run(session, runtime, running)
    return running


def stop_run(session: AsyncSession, runtime: Runtime, run: Run) -> None:
    """Tell the worker of a running run to end it."""
    run.cancel_requested_at = run.cancel_requested_at or runtime.clock()
    announce(session, RUNS, stop=str(run.id))
