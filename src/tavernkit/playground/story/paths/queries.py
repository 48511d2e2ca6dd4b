"""Reading where a path ends, and the state there."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, MessageSwipe
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.paths.snapshots import state_at
from tavernkit.playground.story.paths.state import State


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
        seq: int | None = conversation.last_seq
        if message_id is not None:
            seq = await session.scalar(
                select(Message.seq).where(
                    Message.id == message_id,
                    Message.conversation_id == conversation_id,
                    Message.visibility != "hidden",
                )
            )
        seq = existing(seq, "message")
        return seq, await state_at(session, conversation_id, seq)
