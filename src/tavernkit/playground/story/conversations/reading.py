"""How far people have read: which conversations have messages that are new to somebody."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, insert, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, ReadPosition, SpaceMembership
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, Reader, SpaceAccess, conversation_for


def is_unread(reader: Reader) -> ColumnElement[bool]:
    """Whether the conversation of the query around it has a message, not this person's own, behind the last one that
    they have seen."""
    message = (
        select(Message.id)
        .outerjoin(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .where(
            Message.conversation_id == Conversation.id,
            Message.seq > ReadPosition.seq,
            Message.visibility != "hidden",
            SpaceMembership.user_id.is_distinct_from(reader),
        )
        .correlate(Conversation, ReadPosition)
    )
    return (
        select(ReadPosition.seq)
        .where(
            ReadPosition.user_id == reader,
            ReadPosition.conversation_id == Conversation.id,
            # Of most conversations this says it already, without a look at messages.
            ReadPosition.seq < Conversation.last_seq,
            message.exists(),
        )
        .correlate(Conversation)
        .exists()
    )


async def expect_readers(session: AsyncSession, conversation: Conversation, maker: Viewer) -> None:
    """Let what is said in a new conversation from now on be new to everybody else in its space."""
    others = select(SpaceMembership.user_id, literal(conversation.id, Uuid()), literal(conversation.last_seq)).where(
        SpaceMembership.space_id == conversation.space_id,
        SpaceMembership.kind == "human",
        SpaceMembership.status == "active",
        SpaceMembership.user_id != maker.user_id,
    )
    await session.execute(insert(ReadPosition).from_select(["user_id", "conversation_id", "seq"], others))


async def mark_read(runtime: Runtime, viewer: Viewer, conversation_id: UUID, seq: int) -> int:
    """Remember that a person has seen a conversation up to the message with this number; how far they have read.

    A position never goes back, and where nothing changes, nothing is written. Those who are not in the space have none.
    """
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        seen = min(seq, conversation.last_seq)
        if not _has_position(access, viewer):
            return seen
        known = await session.get(ReadPosition, (viewer.user_id, conversation_id))
    if known is not None and known.seq >= seen:
        return known.seq
    async with runtime.database.write() as session:
        dialect: Any = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
        row = dialect.insert(ReadPosition).from_select(
            ["user_id", "conversation_id", "seq"],
            # Nothing is written for a conversation that was removed meanwhile.
            select(literal(viewer.user_id, Uuid()), Conversation.id, literal(seen)).where(
                Conversation.id == conversation_id
            ),
        )
        await session.execute(
            row.on_conflict_do_update(
                index_elements=[ReadPosition.user_id, ReadPosition.conversation_id],
                set_={"seq": row.excluded.seq},
                where=ReadPosition.seq < row.excluded.seq,
            )
        )
    return seen


async def position_of(session: AsyncSession, access: SpaceAccess, viewer: Viewer, conversation_id: UUID) -> int | None:
    """The number of the last message that this person has seen there; None for those who have no position."""
    if not _has_position(access, viewer):
        return None
    known = await session.get(ReadPosition, (viewer.user_id, conversation_id))
    return 0 if known is None else known.seq


def _has_position(access: SpaceAccess, viewer: Viewer) -> bool:
    return access.member is not None or access.space.owner_id == viewer.user_id
