"""Reading messages: a window of them, one, the swipes of one, and the last of the path."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, MessageSwipe, SpaceMembership
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.paths.state import State, state_at


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


async def visible_message(session: AsyncSession, conversation_id: UUID, message_id: UUID | None) -> Message | None:
    """A message of the conversation that is not hidden."""
    return await session.scalar(
        select(Message).where(
            Message.id == message_id, Message.conversation_id == conversation_id, Message.visibility != "hidden"
        )
    )


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


async def end_of_path(session: AsyncSession, conversation_id: UUID) -> tuple[Message, MessageSwipe] | None:
    """The last visible message with the swipe that is seen."""
    row = (
        await session.execute(
            select(Message, MessageSwipe)
            .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
            .where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
            .order_by(Message.seq.desc())
            .limit(1)
        )
    ).one_or_none()
    return None if row is None else (row[0], row[1])


async def read_state(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, message_id: UUID | None = None
) -> tuple[int, State]:
    """The state behind a message, or at the end, with the number of the message it was asked for."""
    async with runtime.database.read() as session:
        conversation, _ = await conversation_for(session, conversation_id, viewer, Access.READ)
        seq = conversation.last_seq
        if message_id is not None:
            seq = existing(await visible_message(session, conversation_id, message_id), "message").seq
        return seq, await state_at(session, conversation_id, seq)
