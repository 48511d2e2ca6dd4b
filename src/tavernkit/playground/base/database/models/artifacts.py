"""Artifacts: what pipelines keep of a conversation, in versions, and what was pruned of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base, JsonText

_KEPT = text("archive_id IS NULL")


class ArtifactHead(Base):
    """One artifact of a conversation: its definition, the pipeline that owns it, and its latest version, if it has one.

    `max_versions` is what the definition says about retention, where statements can read it.
    """

    __tablename__ = "artifacts"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(64), primary_key=True)
    owner: Mapped[str] = mapped_column(String(200))
    definition: Mapped[dict[str, Any]]
    max_versions: Mapped[int | None]
    latest_version: Mapped[int | None]


class ArtifactArchive(Base):
    """A prune: when, why, and by which step. The versions that it took out of use name it; none is ever deleted."""

    __tablename__ = "artifact_archives"
    __table_args__ = (
        ForeignKeyConstraint(
            ["conversation_id", "tag"], ["artifacts.conversation_id", "artifacts.tag"], ondelete="CASCADE"
        ),
        CheckConstraint("reason IN ('window', 'turns', 'ttl', 'reset')", name="reason"),
    )

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tag: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(String(20))
    run_id: Mapped[UUID | None]
    step_run_id: Mapped[UUID | None]
    pruned_at: Mapped[datetime]


class ArtifactVersion(Base):
    """A value that an artifact has or had. It belongs to the swipe of the message that made it, so that it is
    read only where that swipe is on the path; one that belongs to none is always read."""

    __tablename__ = "artifact_versions"
    __table_args__ = (
        ForeignKeyConstraint(
            ["conversation_id", "tag"], ["artifacts.conversation_id", "artifacts.tag"], ondelete="CASCADE"
        ),
        ForeignKeyConstraint(
            ["conversation_id", "archive_id"],
            ["artifact_archives.conversation_id", "artifact_archives.id"],
            name="fk_artifact_versions_archive_id",
        ),
        CheckConstraint("content_type IN ('text', 'json', 'markdown')", name="content_type"),
        Index("ix_artifact_versions_kept", "conversation_id", "tag", "version", sqlite_where=_KEPT,
              postgresql_where=_KEPT),
        Index("ix_artifact_versions_archived", "conversation_id", "archive_id"),
    )  # fmt: skip

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    tag: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[Any] = mapped_column(JsonText(), nullable=True)
    content_type: Mapped[str] = mapped_column(String(20))
    based_on_version: Mapped[int | None]
    turn: Mapped[int] = mapped_column(default=0)
    message_id: Mapped[UUID | None]
    swipe_id: Mapped[UUID | None]
    pipeline: Mapped[str | None] = mapped_column(String(200))
    step: Mapped[str] = mapped_column(String(200), default="")
    archive_id: Mapped[UUID | None]
    created_at: Mapped[datetime]
