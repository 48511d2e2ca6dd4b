"""Telling everybody who has a page of a space open that something about it has changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Conversation, OutboxEvent
from tavernkit.playground.base.realtime.bus import conversation_topic


async def append_space_event(session: AsyncSession, space_id: UUID, kind: str, now: datetime, **payload: Any) -> None:
    """Write an event into each conversation of the space, and announce them once they are committed.

    The conversations do not count as changed by it: lists of recent ones stay as they are.
    """
    numbered = (
        await session.execute(
            update(Conversation)
            .where(Conversation.space_id == space_id)
            .values(last_event=Conversation.last_event + 1)
            .returning(Conversation.id, Conversation.last_event),
            execution_options={"synchronize_session": False},
        )
    ).all()
    if not numbered:
        return
    await session.execute(
        insert(OutboxEvent),
        [
            {"conversation_id": id, "seq": seq, "kind": kind, "payload": payload, "created_at": now}
            for id, seq in numbered
        ],
    )
    for id, seq in numbered:
        announce(session, conversation_topic(id), seq=seq)
