"""Presets: prompts, templates and generation settings, as files of SillyTavern and RisuAI hold them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class Preset(Base):
    """A preset of one of SillyTavern's kinds, or of RisuAI; `data` is the file, unpacked. One without an owner is
    everybody's."""

    __tablename__ = "presets"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('chat', 'text', 'instruct', 'context', 'system_prompt', 'reasoning', 'master', 'risuai')",
            name="kind",
        ),
        UniqueConstraint("owner_id", "kind", "name"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(String(2000), default="")
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
