"""Messages and their swipes."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.database.base import Base

__all__ = ["Message", "MessageSwipe"]


class Message(Base):
    """What somebody said. `content` repeats the active swipe; `seq` is its place in the conversation."""

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_id", "seq"),
        CheckConstraint("role IN ('user', 'assistant', 'system')", name="role"),
        CheckConstraint("visibility IN ('normal', 'excluded', 'hidden')", name="visibility"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"))
    seq: Mapped[int] = mapped_column(BigInteger)
    role: Mapped[str] = mapped_column(String(20))
    content: Mapped[str] = mapped_column(Text)
    visibility: Mapped[str] = mapped_column(String(20), default="normal")
    active_swipe_id: Mapped[UUID | None]
    swipes_count: Mapped[int] = mapped_column(default=0)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"))
    origin_message_id: Mapped[UUID | None]
    revision: Mapped[int] = mapped_column(default=1)
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    created_at: Mapped[datetime]


class MessageSwipe(Base):
    """One version of a reply."""

    __tablename__ = "message_swipes"
    __table_args__ = (UniqueConstraint("message_id", "position"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    position: Mapped[int]
    content: Mapped[str] = mapped_column(Text)
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"))
    created_at: Mapped[datetime]
