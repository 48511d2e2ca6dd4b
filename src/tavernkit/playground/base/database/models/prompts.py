"""Prompts that were sent: the order of their blocks, and the blocks by their content."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


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
