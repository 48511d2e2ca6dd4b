"""Reading runs."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import Conversation, Run, Space

__all__ = ["find_run"]


async def find_run(session: AsyncSession, run_id: UUID, user_id: UUID, *, lock: bool = False) -> Run | None:
    """The run, if it is in a space of this person; locked until the end of the transaction if asked for."""
    query = (
        select(Run)
        .join(Conversation, Conversation.id == Run.conversation_id)
        .join(Space, Space.id == Conversation.space_id)
        .where(Run.id == run_id, Space.owner_id == user_id)
    )
    found: Run | None = await session.scalar(query.with_for_update(of=Run) if lock else query)
    return found
