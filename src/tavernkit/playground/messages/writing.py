"""Putting a message at the end of a conversation, inside a transaction that somebody else owns."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import Conversation, Message, MessageSwipe

__all__ = ["add_message"]


async def add_message(session: AsyncSession, conversation_id: UUID, message: Message, *, swipe_id: UUID) -> Message:
    """Give the message the next place in the conversation and its first swipe."""
    seq: int | None = await session.scalar(
        update(Conversation)
        .where(Conversation.id == conversation_id)
        .values(last_seq=Conversation.last_seq + 1, updated_at=message.created_at)
        .returning(Conversation.last_seq)
    )
    if seq is None:
        raise LookupError(f"no conversation {conversation_id}")
    message.conversation_id = conversation_id
    message.seq = seq
    message.active_swipe_id = swipe_id
    message.swipes_count = 1
    session.add(message)
    await session.flush()
    session.add(
        MessageSwipe(
            id=swipe_id,
            message_id=message.id,
            position=0,
            content=message.content,
            run_id=message.run_id,
            created_at=message.created_at,
        )
    )
    return message
