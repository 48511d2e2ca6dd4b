"""Removing the rows of conversations, and texts that nothing refers to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, exists, select, true, union
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessageSwipe,
    TextContent,
)
from tavernkit.playground.story.prompting.unused_blocks import note_removed_prompts

_CHUNK = 500


async def remove_conversation_rows(session: AsyncSession, conversation_id: UUID) -> None:
    """Remove a conversation from which no other branches, with its messages, runs and events."""
    texts = await _texts_of(session, conversation_id, true())
    await _execute(session, delete(Conversation).where(Conversation.id == conversation_id))
    await remove_unused_texts(session, texts)
    await note_removed_prompts(session)


async def _texts_of(session: AsyncSession, conversation_id: UUID, these: ColumnElement[bool]) -> list[UUID]:
    of_messages = select(Message.text_id).where(Message.conversation_id == conversation_id, these)
    of_swipes = (
        select(MessageSwipe.text_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(Message.conversation_id == conversation_id, these)
    )
    return list((await session.scalars(union(of_messages, of_swipes))).all())


async def remove_unused_texts(session: AsyncSession, ids: Sequence[UUID]) -> int:
    """Branches share texts: one that is still in use anywhere stays. How many were removed."""
    removed = 0
    for start in range(0, len(ids), _CHUNK):
        gone = await session.scalars(
            delete(TextContent)
            .where(
                TextContent.id.in_(ids[start : start + _CHUNK]),
                ~exists().where(Message.text_id == TextContent.id),
                ~exists().where(MessageSwipe.text_id == TextContent.id),
            )
            .returning(TextContent.id),
            execution_options={"synchronize_session": False},
        )
        removed += len(gone.all())
    return removed


async def _execute(session: AsyncSession, statement: Any) -> None:
    await session.execute(statement, execution_options={"synchronize_session": False})
