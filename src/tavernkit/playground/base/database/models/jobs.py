"""Jobs: work that takes longer than a request, with how far it has come."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class Job(Base):
    """A piece of work that a worker claims; `done` of `total` steps are through.

    `fence` grows with every claim: a worker that lost its lease carries an old one, and its writes match nothing.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'canceled')", name="status"),
        Index("ix_jobs_due", "status", "run_after"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(50))
    status: Mapped[str] = mapped_column(String(20), default="queued")
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)
    result: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[dict[str, Any] | None]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    run_after: Mapped[datetime]
    worker: Mapped[str | None] = mapped_column(String(100))
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    lease_expires_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class JobFile(Base):
    """A file that came with a job: its bytes until it has been dealt with, then what became of it."""

    __tablename__ = "job_files"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(300))
    outcome: Mapped[dict[str, Any] | None]
    data: Mapped[bytes | None] = mapped_column(LargeBinary)
