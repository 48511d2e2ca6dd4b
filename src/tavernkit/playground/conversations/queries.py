"""Reading conversations: who is in them, what was said, what is running. Everything is windowed."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import (
    Round,
    RoundSlot,
    Run,
    SpaceMembership,
)

__all__ = [
    "active_round",
    "active_run",
    "has_turns_behind",
    "last_run",
    "queued_run",
    "speaking_member",
]


async def speaking_member(session: AsyncSession, space_id: UUID) -> SpaceMembership | None:
    """The first character that takes part."""
    found: SpaceMembership | None = await session.scalar(
        select(SpaceMembership)
        .where(
            SpaceMembership.space_id == space_id,
            SpaceMembership.kind == "character",
            SpaceMembership.status == "active",
            SpaceMembership.participation == "active",
        )
        .order_by(SpaceMembership.position)
        .limit(1)
    )
    return found


async def active_round(session: AsyncSession, conversation_id: UUID) -> Round | None:
    """The round that goes on."""
    found: Round | None = await session.scalar(
        select(Round).where(Round.conversation_id == conversation_id, Round.status == "active")
    )
    return found


async def has_turns_behind(session: AsyncSession, run: Run) -> bool:
    """Whether the round of a run goes on, and others are to speak in it behind the turn that it is."""
    if run.round_id is None:
        return False
    behind = exists().where(
        Round.id == run.round_id,
        Round.status == "active",
        RoundSlot.round_id == Round.id,
        RoundSlot.status == "pending",
        RoundSlot.position > Round.current_position,
    )
    return bool(await session.scalar(select(behind)))


async def active_run(session: AsyncSession, conversation_id: UUID) -> Run | None:
    """The run that is running, else the one that waits."""
    found: Run | None = await session.scalar(
        select(Run)
        .where(Run.conversation_id == conversation_id, Run.status.in_(("queued", "running")))
        .order_by(Run.status.desc())
        .limit(1)
    )
    return found


async def queued_run(session: AsyncSession, conversation_id: UUID) -> Run | None:
    """The run that waits."""
    found: Run | None = await session.scalar(
        select(Run).where(Run.conversation_id == conversation_id, Run.status == "queued")
    )
    return found


async def last_run(session: AsyncSession, conversation_id: UUID) -> Run | None:
    """The newest run, whatever became of it."""
    found: Run | None = await session.scalar(
        select(Run).where(Run.conversation_id == conversation_id).order_by(Run.created_at.desc(), Run.id).limit(1)
    )
    return found
