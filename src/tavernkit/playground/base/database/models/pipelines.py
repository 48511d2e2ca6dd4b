"""Pipelines: profiles with all their versions, where each is chosen, and the journal of what was run."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class PipelineProfile(Base):
    """A set of pipelines. `settings_version` is the number of its newest version, counted from 1. One without an owner
    is everybody's."""

    __tablename__ = "pipeline_profiles"
    __table_args__ = (UniqueConstraint("owner_id", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(String(2000), default="")
    settings_version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class PipelineProfileVersion(Base):
    """A profile's content as it was saved; it never changes, so that a run can say what it has followed."""

    __tablename__ = "pipeline_profile_versions"

    profile_id: Mapped[UUID] = mapped_column(ForeignKey("pipeline_profiles.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class PipelineChoice(Base):
    """The profile that is followed at a place: in a conversation, with a character, in a space, or in everything of a
    person's. Without a profile it says that none is, whatever wider places say."""

    __tablename__ = "pipeline_choices"
    __table_args__ = (
        CheckConstraint(
            "(CASE WHEN conversation_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN character_id IS NULL THEN 0 ELSE 1 END)"
            " + (CASE WHEN space_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN user_id IS NULL THEN 0 ELSE 1 END) = 1",
            name="one_place",
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), unique=True
    )
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"), unique=True)
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), unique=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), unique=True)
    profile_id: Mapped[UUID | None] = mapped_column(ForeignKey("pipeline_profiles.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]


class PipelineRun(Base):
    """One run of a profile's pipelines, around the reply of a run of the conversation or by itself.

    `message_id` and `swipe_id` are those that the reply has or is going to have; what the run writes belongs to them,
    and is on the path as soon as they are. `until_seq` is the last message that it knows. `attempt` counts how often it
    was begun or taken up; `report` is what became of it, once it has ended.
    """

    __tablename__ = "pipeline_runs"
    __table_args__ = (
        CheckConstraint("\"trigger\" IN ('user_message', 'regenerate', 'manual', 'api')", name="trigger"),
        CheckConstraint("status IN ('running', 'done', 'aborted', 'error')", name="status"),
        UniqueConstraint("conversation_id", "idempotency_key"),
        Index("ix_pipeline_runs_turns", "conversation_id", "turn"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="CASCADE"), index=True)
    profile_id: Mapped[UUID | None] = mapped_column(ForeignKey("pipeline_profiles.id", ondelete="SET NULL"), index=True)
    profile_version: Mapped[int]
    trigger: Mapped[str] = mapped_column(String(20))
    idempotency_key: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(20), default="running")
    turn: Mapped[int] = mapped_column(default=0)
    message_id: Mapped[UUID | None]
    swipe_id: Mapped[UUID | None]
    until_seq: Mapped[int] = mapped_column(default=0)
    attempt: Mapped[int] = mapped_column(default=1)
    report: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class PipelineStepRun(Base):
    """What became of one step of a run; a run that is taken up again finds it and does not repeat the step.

    `output` is what it has made and from what, in full, and is there only until the run ends; `log` is what stays:
    which versions were read and written, with hashes and lengths instead of what was said.
    """

    __tablename__ = "pipeline_step_runs"
    __table_args__ = (
        CheckConstraint("status IN ('done', 'skipped', 'aborted', 'error')", name="status"),
        UniqueConstraint("pipeline_run_id", "hook", "pipeline", "step"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    pipeline_run_id: Mapped[UUID] = mapped_column(ForeignKey("pipeline_runs.id", ondelete="CASCADE"))
    hook: Mapped[str] = mapped_column(String(20))
    pipeline: Mapped[str] = mapped_column(String(200))
    step: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    status: Mapped[str] = mapped_column(String(20))
    output: Mapped[dict[str, Any] | None]
    log: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[dict[str, Any] | None]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime]
