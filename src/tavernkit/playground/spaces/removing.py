"""Taking conversations and whole spaces out of the database, with the texts that nobody else uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import delete, exists, select, union, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import Conversation, Message, MessageSwipe, Space, TextContent
from tavernkit.playground.jobs.work import JobWork

__all__ = ["REMOVE_KIND", "finish_removing_space", "remove_conversation_rows", "remove_space"]

REMOVE_KIND = "remove_space"

_CHUNK = 500


async def remove_conversation_rows(session: AsyncSession, conversation_id: UUID) -> None:
    """Remove a conversation from which no other branches, with its messages, runs and events."""
    texts = await _texts_of(session, conversation_id)
    await _execute(session, delete(Conversation).where(Conversation.id == conversation_id))
    await _remove_unused_texts(session, texts)


async def remove_space(session: AsyncSession, space_id: UUID) -> None:
    """Remove a space and everything in it, in this transaction."""
    # A branch may still have been on its way while its parent was removed.
    while conversations := await _conversations_of(session, space_id):
        await _cut_branches(session, space_id)
        for conversation_id in conversations:
            await remove_conversation_rows(session, conversation_id)
    await _execute(session, delete(Space).where(Space.id == space_id))


async def finish_removing_space(work: JobWork) -> dict[str, Any]:
    """The job: one conversation after the other, then the space. It can be broken off and begun again anywhere."""
    space_id = UUID(work.claim.payload["space_id"])
    database = work.runtime.database
    async with database.write() as session:
        await _cut_branches(session, space_id)
        conversations = await _conversations_of(session, space_id)
    for done, conversation_id in enumerate(conversations):
        work.check()
        async with database.write() as session:
            await remove_conversation_rows(session, conversation_id)
        await work.report(done + 1, len(conversations) + 1)
    async with database.write() as session:
        await remove_space(session, space_id)
    return {"space_id": str(space_id)}


async def _cut_branches(session: AsyncSession, space_id: UUID) -> None:
    """Nobody sees the tree any more; without it, conversations can go one by one."""
    await _execute(
        session,
        update(Conversation)
        .where(Conversation.space_id == space_id)
        .values(parent_conversation_id=None, root_conversation_id=None),
    )


async def _conversations_of(session: AsyncSession, space_id: UUID) -> Sequence[UUID]:
    found = await session.scalars(select(Conversation.id).where(Conversation.space_id == space_id))
    return found.all()


async def _texts_of(session: AsyncSession, conversation_id: UUID) -> list[UUID]:
    of_messages = select(Message.text_id).where(Message.conversation_id == conversation_id)
    of_swipes = (
        select(MessageSwipe.text_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(Message.conversation_id == conversation_id)
    )
    return list((await session.scalars(union(of_messages, of_swipes))).all())


async def _remove_unused_texts(session: AsyncSession, ids: Sequence[UUID]) -> None:
    """Branches share texts: one that is still told anywhere stays."""
    for start in range(0, len(ids), _CHUNK):
        await _execute(
            session,
            delete(TextContent).where(
                TextContent.id.in_(ids[start : start + _CHUNK]),
                ~exists().where(Message.text_id == TextContent.id),
                ~exists().where(MessageSwipe.text_id == TextContent.id),
            ),
        )


async def _execute(session: AsyncSession, statement: Any) -> None:
    await session.execute(statement, execution_options={"synchronize_session": False})
