"""Spaces: who takes part, and how."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


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
