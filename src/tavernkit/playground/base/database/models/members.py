"""Members of a space: the authors of its messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class SpaceMembership(Base):
    """A person or a character in a space. Rows are never deleted: messages point to their author here.

    `persona` is the text of a persona that is this membership's own; `persona_id` one of the person's personas.
    The copilot writes in one conversation, or in all of the space where none is named.
    """

    __tablename__ = "space_memberships"
    __table_args__ = (
        CheckConstraint("kind IN ('human', 'character')", name="kind"),
        CheckConstraint("role IN ('owner', 'member', 'moderator')", name="role"),
        CheckConstraint("status IN ('active', 'removed')", name="status"),
        CheckConstraint("participation IN ('active', 'muted', 'observer')", name="participation"),
        CheckConstraint("copilot_mode IN ('none', 'full')", name="copilot_mode"),
        CheckConstraint("copilot_remaining_steps BETWEEN 0 AND 10", name="copilot_remaining_steps"),
        CheckConstraint(
            "(kind = 'human' AND user_id IS NOT NULL) OR "
            "(kind = 'character' AND user_id IS NULL AND (character_id IS NOT NULL OR status = 'removed'))",
            name="identity",
        ),
        Index("uq_space_memberships_user", "space_id", "user_id", unique=True, sqlite_where=text("user_id IS NOT NULL"),
              postgresql_where=text("user_id IS NOT NULL")),
        Index("uq_space_memberships_character", "space_id", "character_id", unique=True,
              sqlite_where=text("character_id IS NOT NULL"), postgresql_where=text("character_id IS NOT NULL")),
    )  # fmt: skip

    id: Mapped[UUID] = mapped_column(primary_key=True)
    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(20))
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"))
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id"))
    role: Mapped[str] = mapped_column(String(20), default="member")
    position: Mapped[int] = mapped_column(default=0)
    status: Mapped[str] = mapped_column(String(20), default="active")
    participation: Mapped[str] = mapped_column(String(20), default="active")
    cached_display_name: Mapped[str] = mapped_column(String(200))
    name_override: Mapped[str | None] = mapped_column(String(200))
    persona: Mapped[str] = mapped_column(Text, default="")
    persona_id: Mapped[UUID | None] = mapped_column(ForeignKey("personas.id", ondelete="SET NULL"))
    copilot_mode: Mapped[str] = mapped_column(String(20), default="none")
    copilot_remaining_steps: Mapped[int] = mapped_column(default=0)
    copilot_conversation_id: Mapped[UUID | None]
    talkativeness: Mapped[float | None]
    preset_id: Mapped[UUID | None] = mapped_column(ForeignKey("presets.id", ondelete="SET NULL"))
    provider_id: Mapped[UUID | None] = mapped_column(ForeignKey("llm_providers.id", ondelete="SET NULL"))
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    unread_at: Mapped[datetime | None]
    removed_at: Mapped[datetime | None]
    removed_by_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    removed_reason: Mapped[str | None] = mapped_column(String(500))
