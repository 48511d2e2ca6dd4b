"""Rounds: who speaks after whom, decided once and kept."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base

_ACTIVE = text("status = 'active'")


class Round(Base):
    """A queue of speakers. The database allows one active round per conversation."""

    __tablename__ = "conversation_rounds"
    __table_args__ = (
        CheckConstraint("status IN ('active', 'finished', 'superseded', 'canceled')", name="status"),
        CheckConstraint(
            "(status = 'active') = (scheduling_state IS NOT NULL)"
            " AND (scheduling_state IS NULL OR scheduling_state IN ('ai_generating', 'paused', 'failed'))",
            name="scheduling_state",
        ),
        Index("uq_conversation_rounds_active", "conversation_id", unique=True, sqlite_where=_ACTIVE,
              postgresql_where=_ACTIVE),
    )  # fmt: skip

    id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    status: Mapped[str] = mapped_column(String(20), default="active")
    scheduling_state: Mapped[str | None] = mapped_column(String(20), default="ai_generating")
    current_position: Mapped[int] = mapped_column(default=0)
    trigger_message_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("messages.id", ondelete="SET NULL", use_alter=True)
    )
    ended_reason: Mapped[str | None] = mapped_column(String(100))
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class RoundSlot(Base):
    """One turn in a round; the same member may have several."""

    __tablename__ = "conversation_round_slots"
    __table_args__ = (
        UniqueConstraint("round_id", "position"),
        CheckConstraint("status IN ('pending', 'spoken', 'skipped')", name="status"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    round_id: Mapped[UUID] = mapped_column(ForeignKey("conversation_rounds.id", ondelete="CASCADE"))
    position: Mapped[int]
    membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"))
    status: Mapped[str] = mapped_column(String(20), default="pending")
    reason: Mapped[dict[str, Any]] = mapped_column(default=dict)
    finished_at: Mapped[datetime | None]
    skip_reason: Mapped[str | None] = mapped_column(String(100))
