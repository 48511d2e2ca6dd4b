"""Spaces: who takes part, and how."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.database.base import Base

__all__ = ["Space"]


class Space(Base):
    """Permissions, participants and settings; never anything that is running."""

    __tablename__ = "spaces"
    __table_args__ = (
        CheckConstraint("kind IN ('playground', 'discussion')", name="kind"),
        CheckConstraint("status IN ('active', 'archived', 'deleting')", name="status"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    kind: Mapped[str] = mapped_column(String(20), default="playground")
    name: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(20), default="active")
    prompt_settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
