"""Characters: cards that were brought in."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.database.base import Base

__all__ = ["Character"]


class Character(Base):
    """A card: `data` is the whole V3 card as JSON, the other columns are for lists."""

    __tablename__ = "characters"
    __table_args__ = (CheckConstraint("status IN ('pending', 'ready', 'failed', 'deleting')", name="status"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    nickname: Mapped[str | None] = mapped_column(String(200))
    data: Mapped[dict[str, Any]]
    spec_version: Mapped[int] = mapped_column(default=3)
    file_sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    tags: Mapped[list[str]] = mapped_column(default=list)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
