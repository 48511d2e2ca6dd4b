"""Reading conversations: who is in them, what was said, what is running. Everything is windowed."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.database.models import (
    Character,
    Conversation,
    Message,
    Round,
    RoundSlot,
    Run,
    Space,
    SpaceMembership,
    TextContent,
)

__all__ = [
    "active_round",
    "active_run",
    "find_conversation",
    "has_turns_behind",
    "human_member",
    "last_run",
    "messages_before",
    "queued_run",
    "recent_conversations",
    "speaking_member",
]


async def find_conversation(
    session: AsyncSession, conversation_id: UUID, user_id: UUID, *, lock: bool = False
) -> Conversation | None:
    """The conversation, if it is in a space of this person; locked until the end of the transaction if asked for.

    Whoever decides something by what is in a conversation locks it, so that nobody else decides at the same time.
    """
    query = (
        select(Conversation)
        .join(Space, Space.id == Conversation.space_id)
        .where(Conversation.id == conversation_id, Space.owner_id == user_id, Space.status == "active")
    )
    found: Conversation | None = await session.scalar(query.with_for_update(of=Conversation) if lock else query)
    return found


async def human_member(session: AsyncSession, space_id: UUID, user_id: UUID) -> SpaceMembership:
    """The person's own membership."""
    found = await session.scalars(
        select(SpaceMembership).where(SpaceMembership.space_id == space_id, SpaceMembership.user_id == user_id)
    )
    return found.one()


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


async def messages_before(
    session: AsyncSession, conversation_id: UUID, *, before: int | None, limit: int
) -> list[tuple[Message, SpaceMembership]]:
    """The newest `limit` visible messages below `before`, oldest first, each with its author."""
    query = (
        select(Message, SpaceMembership)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
        .order_by(Message.seq.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(Message.seq < before)
    rows = (await session.execute(query)).all()
    return list(reversed(rows))


async def recent_conversations(
    session: AsyncSession, user_id: UUID, *, limit: int
) -> list[tuple[Conversation, Space, SpaceMembership, Character, str | None]]:
    """The conversations that changed last, each with its character and its last words."""
    last_seq = (
        select(func.max(Message.seq))
        .where(Message.conversation_id == Conversation.id, Message.visibility != "hidden")
        .correlate(Conversation)
        .scalar_subquery()
    )
    member = aliased(SpaceMembership)
    first_character = (
        select(member.id)
        .where(member.space_id == Space.id, member.kind == "character", member.character_id.is_not(None))
        .order_by(member.status, member.position, member.id)
        .limit(1)
        .correlate(Space)
        .scalar_subquery()
    )
    query = (
        select(Conversation, Space, SpaceMembership, Character, TextContent.content)
        .join(Space, Space.id == Conversation.space_id)
        .join(SpaceMembership, SpaceMembership.id == first_character)
        .join(Character, Character.id == SpaceMembership.character_id)
        .outerjoin(Message, (Message.conversation_id == Conversation.id) & (Message.seq == last_seq))
        .outerjoin(TextContent, TextContent.id == Message.text_id)
        .where(Space.owner_id == user_id, Space.status == "active")
        .order_by(Conversation.updated_at.desc())
        .limit(limit)
    )
    return [
        (conversation, space, member, character, content)
        for conversation, space, member, character, content in await session.execute(query)
    ]
