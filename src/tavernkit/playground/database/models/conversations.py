"""Conversations: timelines of messages."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.database.base import Base

__all__ = ["Conversation"]


class Conversation(Base):
    """A timeline. `last_seq` and `last_event` are the highest numbers given to a message and to an event in it."""

    __tablename__ = "conversations"
    __table_args__ = (
        CheckConstraint("kind IN ('root', 'branch', 'thread', 'checkpoint')", name="kind"),
        CheckConstraint("visibility IN ('shared', 'private', 'public')", name="visibility"),
        Index("ix_conversations_recent", "updated_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20), default="root")
    title: Mapped[str] = mapped_column(String(200))
    visibility: Mapped[str] = mapped_column(String(20), default="shared")
    parent_conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"))
    root_conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"))
    forked_from_message_id: Mapped[UUID | None]
    last_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    last_event: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
