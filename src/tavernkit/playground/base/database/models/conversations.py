"""Conversations: timelines of messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base, JsonText


class GlobalVariable(Base):
    """A value that macros or people have set, for every space of its owner."""

    __tablename__ = "global_variables"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    value: Mapped[Any] = mapped_column(JsonText(), nullable=True)
    updated_at: Mapped[datetime]


class OutboxEvent(Base):
    """Something that happened in a conversation, numbered without gaps and written in the same transaction."""

    __tablename__ = "outbox_events"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(50))
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime]


class Conversation(Base):
    """A timeline. `last_seq` and `last_event` are the highest numbers given to a message and to an event in it.

    `messages_count` counts the messages that are not hidden. Chat variables and lore timers are not here: they are
    deltas on swipes, so that they follow the path through the messages.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        CheckConstraint("kind IN ('root', 'branch', 'thread', 'checkpoint')", name="kind"),
        CheckConstraint("visibility IN ('shared', 'private', 'public')", name="visibility"),
        CheckConstraint("status IN ('ready', 'pending', 'failed', 'archived')", name="status"),
        Index("ix_conversations_recent", "updated_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20), default="root")
    title: Mapped[str] = mapped_column(String(200))
    visibility: Mapped[str] = mapped_column(String(20), default="shared")
    parent_conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"), index=True)
    root_conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"), index=True)
    forked_from_message_id: Mapped[UUID | None] = mapped_column(index=True)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    auto_mode_remaining_rounds: Mapped[int | None]
    turns_count: Mapped[int] = mapped_column(default=0)
    messages_count: Mapped[int] = mapped_column(default=0)
    prompt_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    last_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    last_event: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
