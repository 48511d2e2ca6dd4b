"""Reading conversations: who is in them, what was said, what is running. Everything is windowed."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Character, Persona, Round, RoundSlot, Run, SpaceMembership


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


async def pictured_speaker(session: AsyncSession, run: Run) -> tuple[SpaceMembership, str | None]:
    """Who speaks in a run, and the SHA-256 of their picture, the same as beside their messages."""
    row = await session.execute(
        select(SpaceMembership, func.coalesce(Character.thumbnail_sha256, Persona.avatar_sha256))
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .outerjoin(Persona, Persona.id == SpaceMembership.persona_id)
        .where(SpaceMembership.id == run.speaker_membership_id)
    )
    member, picture = row.one()
    return member, picture
