"""The outbox: events that are committed with what they are about, numbered within their conversation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Conversation, OutboxEvent
from tavernkit.playground.base.realtime.bus import conversation_topic


def announce_access_change(session: AsyncSession, topic: str) -> None:
    """Have everybody who listens to a topic, in every process, look again once this transaction is committed."""
    announce(session, topic, access="changed")


def is_access_in_question(items: Iterable[dict[str, Any]]) -> bool:
    """Whether one of the items says so, or something that says so may have been lost."""
    return any("access" in item or "gap" in item for item in items)


PAGE = 100


async def append_event(session: AsyncSession, conversation_id: UUID, kind: str, now: datetime, **payload: Any) -> int:
    """Write an event into this transaction, and announce it once it is committed."""
    seq: int | None = await session.scalar(
        update(Conversation)
        .where(Conversation.id == conversation_id)
        .values(last_event=Conversation.last_event + 1, updated_at=now)
        .returning(Conversation.last_event)
    )
    if seq is None:
        raise LookupError(f"no conversation {conversation_id}")
    session.add(OutboxEvent(conversation_id=conversation_id, seq=seq, kind=kind, payload=payload, created_at=now))
    announce(session, conversation_topic(conversation_id), seq=seq)
    return seq


async def events_after(session: AsyncSession, conversation_id: UUID, seq: int) -> list[OutboxEvent]:
    """The next page of events behind `seq`, in order."""
    found = await session.scalars(
        select(OutboxEvent)
        .where(OutboxEvent.conversation_id == conversation_id, OutboxEvent.seq > seq)
        .order_by(OutboxEvent.seq)
        .limit(PAGE)
    )
    return list(found)
