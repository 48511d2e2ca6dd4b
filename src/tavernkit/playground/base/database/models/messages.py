"""Messages, their swipes, the texts that both share, and snapshots of the state along a path."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from tavernkit.playground.base.database.base import Base


class TextContent(Base):
    """A text that never changes, so that a message, its swipe and their copies in every branch can share it."""

    __tablename__ = "text_contents"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    content: Mapped[str] = mapped_column(Text)


class Message(Base):
    """What somebody said. Its text is that of its active swipe; `seq` is its place in the conversation.

    `revision` grows with every change to the message: who writes what was read before it is refused. A hidden message
    is deleted for everybody but who wants it back.
    """

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_id", "seq"),
        CheckConstraint("role IN ('user', 'assistant', 'system')", name="role"),
        CheckConstraint("visibility IN ('normal', 'excluded', 'hidden')", name="visibility"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"), index=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    role: Mapped[str] = mapped_column(String(20))
    text_id: Mapped[UUID] = mapped_column(ForeignKey("text_contents.id"), index=True)
    visibility: Mapped[str] = mapped_column(String(20), default="normal")
    hidden_from: Mapped[str | None] = mapped_column(String(20))
    active_swipe_id: Mapped[UUID | None]
    swipes_count: Mapped[int] = mapped_column(default=0)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"), index=True)
    origin_message_id: Mapped[UUID | None]
    revision: Mapped[int] = mapped_column(default=1)
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    created_at: Mapped[datetime]

    text: Mapped[TextContent] = relationship(lazy="joined", innerjoin=True)

    @property
    def content(self) -> str:
        return self.text.content


class MessageSwipe(Base):
    """One version of a message. `state_delta` is what this version has changed in the story's state."""

    __tablename__ = "message_swipes"
    __table_args__ = (UniqueConstraint("message_id", "position"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    position: Mapped[int]
    text_id: Mapped[UUID] = mapped_column(ForeignKey("text_contents.id"), index=True)
    state_delta: Mapped[dict[str, Any] | None]
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"), index=True)
    created_at: Mapped[datetime]

    text: Mapped[TextContent] = relationship(lazy="joined", innerjoin=True)

    @property
    def content(self) -> str:
        return self.text.content


class PathSnapshot(Base):
    """The state of the story right behind a message, so that it need not be replayed from the beginning."""

    __tablename__ = "path_snapshots"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    state: Mapped[dict[str, Any]] = mapped_column(default=dict)
