"""Spaces: who takes part, and how."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, CheckConstraint, ForeignKey, Index, String, Text, text
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


class Space(Base):
    """Permissions, participants and settings; never anything that is running.

    `settings_version` grows with every change: who writes what was read before it is refused.
    """

    __tablename__ = "spaces"
    __table_args__ = (
        CheckConstraint("kind IN ('playground', 'discussion')", name="kind"),
        CheckConstraint("status IN ('active', 'archived', 'deleting')", name="status"),
        CheckConstraint("reply_order IN ('manual', 'natural', 'list', 'pooled')", name="reply_order"),
        CheckConstraint("card_handling_mode IN ('swap', 'append', 'append_disabled')", name="card_handling_mode"),
        CheckConstraint(
            "during_generation_user_input_policy IN ('reject', 'queue', 'restart')",
            name="during_generation_user_input_policy",
        ),
        CheckConstraint("group_regenerate_mode IN ('single_message', 'last_turn')", name="group_regenerate_mode"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    kind: Mapped[str] = mapped_column(String(20), default="playground")
    name: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(20), default="active")
    reply_order: Mapped[str] = mapped_column(String(20), default="natural")
    card_handling_mode: Mapped[str] = mapped_column(String(20), default="swap")
    allow_self_responses: Mapped[bool] = mapped_column(Boolean, default=False)
    auto_mode_enabled: Mapped[bool] = mapped_column(Boolean, default=False)
    auto_mode_delay_ms: Mapped[int] = mapped_column(default=5000)
    during_generation_user_input_policy: Mapped[str] = mapped_column(String(20), default="reject")
    user_turn_debounce_ms: Mapped[int] = mapped_column(default=0)
    group_regenerate_mode: Mapped[str] = mapped_column(String(20), default="single_message")
    relax_message_trim: Mapped[bool] = mapped_column(Boolean, default=False)
    provider_id: Mapped[UUID | None] = mapped_column(ForeignKey("llm_providers.id", ondelete="SET NULL"))
    preset_id: Mapped[UUID | None] = mapped_column(ForeignKey("presets.id", ondelete="SET NULL"))
    prompt_settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    token_limit: Mapped[int] = mapped_column(BigInteger, default=0)
    prompt_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
