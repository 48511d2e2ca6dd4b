"""Personas: who the user is in a story."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class Persona(Base):
    """A name and a description, and where in the prompt the description goes.

    `file` is what SillyTavern's backup said: the file name of the picture (`avatar`) and everything else (`entry`).
    """

    __tablename__ = "personas"
    __table_args__ = (
        CheckConstraint(
            "position IN ('in_prompt', 'top_of_note', 'bottom_of_note', 'at_depth', 'none')", name="position"
        ),
        CheckConstraint("role IN ('system', 'user', 'assistant')", name="role"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text, default="")
    position: Mapped[str] = mapped_column(String(20), default="in_prompt")
    depth: Mapped[int] = mapped_column(default=2)
    role: Mapped[str] = mapped_column(String(20), default="system")
    avatar_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    is_default: Mapped[bool] = mapped_column(Boolean, default=False)
    file: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
