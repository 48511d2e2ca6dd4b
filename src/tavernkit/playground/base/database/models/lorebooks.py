"""Lorebooks, their entries, and what they are attached to."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class Lorebook(Base):
    """A book. `data` is everything the file said about the book itself, so that it can be written back."""

    __tablename__ = "lorebooks"
    __table_args__ = (CheckConstraint("status IN ('ready', 'deleting')", name="status"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text, default="")
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    entries_count: Mapped[int] = mapped_column(default=0)
    file_sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    settings_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class LorebookEntry(Base):
    """An entry; `data` is the whole entry in SillyTavern's World Info form, the other columns are for lists."""

    __tablename__ = "lorebook_entries"
    __table_args__ = (UniqueConstraint("lorebook_id", "uid"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    lorebook_id: Mapped[UUID] = mapped_column(ForeignKey("lorebooks.id", ondelete="CASCADE"))
    uid: Mapped[int]
    position: Mapped[int] = mapped_column(default=0)
    comment: Mapped[str] = mapped_column(Text, default="")
    enabled: Mapped[bool] = mapped_column(Boolean, default=True)
    constant: Mapped[bool] = mapped_column(Boolean, default=False)
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    revision: Mapped[int] = mapped_column(default=1)
    updated_at: Mapped[datetime]


class LorebookLink(Base):
    """A book in use: in a space, a conversation, with a character or a persona; exactly one of the four."""

    __tablename__ = "lorebook_links"
    __table_args__ = (
        CheckConstraint(
            "(CASE WHEN space_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN conversation_id IS NULL THEN 0 ELSE 1 END)"
            " + (CASE WHEN character_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN persona_id IS NULL THEN 0 ELSE 1 END)"
            " = 1",
            name="one_place",
        ),
        UniqueConstraint("lorebook_id", "space_id"),
        UniqueConstraint("lorebook_id", "conversation_id"),
        UniqueConstraint("lorebook_id", "character_id"),
        UniqueConstraint("lorebook_id", "persona_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    lorebook_id: Mapped[UUID] = mapped_column(ForeignKey("lorebooks.id", ondelete="CASCADE"))
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"), index=True)
    persona_id: Mapped[UUID | None] = mapped_column(ForeignKey("personas.id", ondelete="CASCADE"), index=True)
    enabled: Mapped[bool] = mapped_column(Boolean, default=True)
    position: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
