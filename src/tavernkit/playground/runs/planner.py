"""Queueing a run, inside the transaction of whatever asks for it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database import announce
from tavernkit.playground.database.models import Run
from tavernkit.playground.realtime.bus import RUNS
from tavernkit.playground.realtime.outbox import append_event
from tavernkit.playground.runtime import Runtime

__all__ = ["plan_run"]


async def plan_run(
    session: AsyncSession, runtime: Runtime, conversation_id: UUID, speaker_id: UUID, *, kind: str, reason: str
) -> Run:
    """Queue a reply; what an earlier run left open for the person to decide is settled by it."""
    now = runtime.clock()
    await session.execute(
        update(Run).where(Run.conversation_id == conversation_id, ~Run.dismissed).values(dismissed=True)
    )
    run = Run(
        id=runtime.ids(),
        conversation_id=conversation_id,
        kind=kind,
        status="queued",
        reason=reason,
        speaker_membership_id=speaker_id,
        run_after=now,
        created_at=now,
    )
    session.add(run)
    await session.flush()
    await append_event(session, conversation_id, "run", now, run_id=str(run.id))
    announce(session, RUNS, queued=str(run.id))
    return run
