"""Taking conversations and whole spaces out of the database, with the texts that nobody else uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.story.conversations.removing import (
    _CHUNK,
    _execute,
    _texts_of,
    remove_conversation_rows,
    remove_unused_texts,
)


def is_removed_with(space_id: UUID) -> ColumnElement[bool]:
    """The conversations of a space, and those that are being imported into it: its members have said something in
    them already."""
    by_members = (
        select(Message.conversation_id)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .where(SpaceMembership.space_id == space_id)
    )
    return or_(Conversation.space_id == space_id, Conversation.id.in_(by_members))


async def remove_space(session: AsyncSession, space_id: UUID) -> None:
    """Remove a space and everything in it, in this transaction."""
    # A branch may still have been on its way while its parent was removed.
    while conversations := await _conversations_of(session, space_id):
        await _cut_branches(session, space_id)
        for conversation_id in conversations:
            await remove_conversation_rows(session, conversation_id)
    await _execute(session, delete(Space).where(Space.id == space_id))


async def finish_removing_space(work: JobWork) -> dict[str, Any]:
    """The job: one conversation after the other, then the space. It can be broken off and begun again anywhere.

    Messages go some at a time, so that others need not wait long before they can write.
    """
    space_id = UUID(work.claim.payload["space_id"])
    database = work.runtime.database
    async with database.write() as session:
        await _cut_branches(session, space_id)
        conversations = await _conversations_of(session, space_id)
    for done, conversation_id in enumerate(conversations):
        has_more = True
        while has_more:
            work.check()
            async with database.write() as session:
                has_more = await _remove_some_messages(session, conversation_id)
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
    found = await session.scalars(select(Conversation.id).where(is_removed_with(space_id)))
    return found.all()


async def _remove_some_messages(session: AsyncSession, conversation_id: UUID) -> bool:
    """Remove the next messages of a conversation that nobody sees any more; whether there were any."""
    numbers = select(Message.seq).where(Message.conversation_id == conversation_id).order_by(Message.seq).limit(_CHUNK)
    seqs = (await session.scalars(numbers)).all()
    if not seqs:
        return False
    these = Message.seq.between(seqs[0], seqs[-1])
    texts = await _texts_of(session, conversation_id, these)
    await _execute(session, delete(Message).where(Message.conversation_id == conversation_id, these))
    await remove_unused_texts(session, texts)
    return True
