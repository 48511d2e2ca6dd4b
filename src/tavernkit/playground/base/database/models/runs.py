"""Runs: one attempt at a reply."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base

_RUNNING = text("status = 'running'")
_QUEUED = text("status = 'queued'")


class Run(Base):
    """The state of one generation. The database allows one running and one queued run per conversation.

    `fence` grows with every claim: a worker that lost its lease carries an old one, and its writes match nothing.
    `text` is what has been generated so far, written about once a second. `replied_at` says that the reply is stored,
    while steps behind it may still be at work. `limits` are those of who asked for it: `max_tokens` and `stop`.
    """

    __tablename__ = "conversation_runs"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('user_turn', 'auto_mode', 'regenerate', 'force_talk', 'copilot', 'continue', 'impersonate')",
            name="kind",
        ),
        CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'canceled', 'skipped')", name="status"
        ),
        Index("uq_conversation_runs_running", "conversation_id", unique=True, sqlite_where=_RUNNING,
              postgresql_where=_RUNNING),
        Index("uq_conversation_runs_queued", "conversation_id", unique=True, sqlite_where=_QUEUED,
              postgresql_where=_QUEUED),
        Index("ix_conversation_runs_due", "status", "run_after"),
        Index("ix_conversation_runs_recent", "conversation_id", "created_at"),
        Index("ix_conversation_runs_undecided", "conversation_id", sqlite_where=text("dismissed = 0"),
              postgresql_where=text("NOT dismissed")),
    )  # fmt: skip

    id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(String(100))
    speaker_membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"))
    round_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_rounds.id", ondelete="SET NULL"), index=True)
    round_position: Mapped[int | None]
    target_message_id: Mapped[UUID | None]
    limits: Mapped[dict[str, Any] | None]
    run_after: Mapped[datetime]
    cancel_requested_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    lease_expires_at: Mapped[datetime | None]
    worker: Mapped[str | None] = mapped_column(String(100))
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    text: Mapped[str] = mapped_column(Text, default="")
    replied_at: Mapped[datetime | None]
    dismissed: Mapped[bool] = mapped_column(default=False)
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    cost: Mapped[float | None]
    error: Mapped[dict[str, Any] | None]
    debug: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime]
