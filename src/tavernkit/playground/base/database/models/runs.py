"""Runs: one attempt at a reply."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
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


class PromptBlock(Base):
    """The text of a block, once, however many prompts it stands in."""

    __tablename__ = "prompt_blocks"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[str] = mapped_column(Text)


class PromptSnapshot(Base):
    """One prompt: `blocks` lists each block's hash, role and source in order, `request` what else was sent."""

    __tablename__ = "prompt_snapshots"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("conversation_runs.id", ondelete="CASCADE"), primary_key=True)
    blocks: Mapped[dict[str, Any]] = mapped_column(default=dict)
    request: Mapped[dict[str, Any]] = mapped_column(default=dict)
    report: Mapped[dict[str, Any]] = mapped_column(default=dict)
    fingerprint: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(index=True)


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
