"""Reading runs and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Round, RoundSlot, Run, SpaceMembership
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.runs.conversation_queries import active_round, active_run, last_run
from tavernkit.values import Value


class ShownRound(Value, frozen=True, kw_only=True):
    """A round with its turns, and the name of whose turn each is."""

    round: Round
    slots: Sequence[tuple[RoundSlot, str]]


class Turns(Value, frozen=True, kw_only=True):
    """What goes on in a conversation: the round, the run, and what goes on by itself.

    Where nobody writes, the run is the one that was cut short, until somebody has decided about it.
    """

    conversation: Conversation
    run: Run | None
    round: ShownRound | None


async def run_for(
    session: AsyncSession, run_id: UUID, viewer: Viewer, needs: Access, *, lock: bool = False
) -> tuple[Run, Conversation]:
    """The run with its conversation, which is locked if asked for, if this person may do with it what they want to."""
    conversation_id = existing(await session.scalar(select(Run.conversation_id).where(Run.id == run_id)), "run")
    try:
        conversation, _ = await conversation_for(session, conversation_id, viewer, needs, lock=lock)
    except Refused as refused:
        raise not_found("run") if refused.code == "not_found" else refused from None
    return existing(await session.scalar(select(Run).where(Run.id == run_id)), "run"), conversation


async def read_run(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Run:
    """One run."""
    async with runtime.database.read() as session:
        run, _ = await run_for(session, run_id, viewer, Access.READ)
        return run


async def list_runs(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> list[Run]:
    """The runs of a conversation, the newest first."""
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        query = (
            select(Run)
            .where(Run.conversation_id == conversation_id)
            .order_by(Run.created_at.desc(), Run.id)
            .limit(limit)
        )
        if after is not None:
            time, id = after
            query = query.where(or_(Run.created_at < time, and_(Run.created_at == time, Run.id > id)))
        return list(await session.scalars(query))


async def read_turns(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Turns:
    """What goes on in a conversation."""
    async with runtime.database.read() as session:
        conversation, _ = await conversation_for(session, conversation_id, viewer, Access.READ)
        return await shown_turns(session, conversation)


async def shown_turns(session: AsyncSession, conversation: Conversation) -> Turns:
    """What goes on in a conversation that somebody may see."""
    round = await active_round(session, conversation.id)
    return Turns(
        conversation=conversation,
        run=await active_run(session, conversation.id) or await _undecided(session, conversation.id),
        round=None if round is None else ShownRound(round=round, slots=await _slots(session, round)),
    )


async def _undecided(session: AsyncSession, conversation_id: UUID) -> Run | None:
    run = await last_run(session, conversation_id)
    return None if run is None or run.dismissed else run


async def _slots(session: AsyncSession, round: Round) -> list[tuple[RoundSlot, str]]:
    rows = await session.execute(
        select(RoundSlot, SpaceMembership.cached_display_name)
        .join(SpaceMembership, SpaceMembership.id == RoundSlot.membership_id)
        .where(RoundSlot.round_id == round.id)
        .order_by(RoundSlot.position)
    )
    return [(slot, name) for slot, name in rows]
