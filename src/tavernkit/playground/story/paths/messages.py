"""Reading messages: a window of them, one, and the swipes of one."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Message, MessageSwipe, SpaceMembership


class ShownMessage(NamedTuple):
    """A message with what is shown beside it: who said it, and which of its swipes is seen."""

    message: Message
    author_name: str
    author_kind: str
    swipe_position: int


async def messages_before(
    session: AsyncSession, conversation_id: UUID, *, before: int | None, limit: int
) -> list[ShownMessage]:
    """The newest visible messages below `before`, oldest first."""
    query = _visible(conversation_id).order_by(Message.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(Message.seq < before)
    return [ShownMessage(*row) for row in reversed((await session.execute(query)).all())]


async def messages_after(session: AsyncSession, conversation_id: UUID, *, after: int, limit: int) -> list[ShownMessage]:
    """The oldest visible messages above `after`, oldest first."""
    query = _visible(conversation_id).where(Message.seq > after).order_by(Message.seq).limit(limit)
    return [ShownMessage(*row) for row in await session.execute(query)]


async def shown_message(session: AsyncSession, message_id: UUID) -> ShownMessage:
    """One message that is known to be there, hidden or not."""
    return ShownMessage(*(await session.execute(_shown().where(Message.id == message_id))).one())


async def swipes_of(
    session: AsyncSession, message_id: UUID, *, after: int = -1, limit: int | None = None
) -> list[MessageSwipe]:
    """The swipes of a message behind position `after`, in order."""
    rows = await session.scalars(
        select(MessageSwipe)
        .where(MessageSwipe.message_id == message_id, MessageSwipe.position > after)
        .order_by(MessageSwipe.position)
        .limit(limit)
    )
    return list(rows)


async def active_swipe(session: AsyncSession, message: Message) -> MessageSwipe:
    """The swipe that is seen; every message has one."""
    return await session.get_one(MessageSwipe, message.active_swipe_id)


def _shown() -> Select[Message, str, str, int]:
    return (
        select(Message, SpaceMembership.cached_display_name, SpaceMembership.kind, MessageSwipe.position)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
    )


def _visible(conversation_id: UUID) -> Select[Message, str, str, int]:
    return _shown().where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
