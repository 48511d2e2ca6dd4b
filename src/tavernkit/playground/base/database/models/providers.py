"""Providers: where models answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class Provider(Base):
    """A model and how to reach it. The key is encrypted with this row's id as associated data.

    `timeouts` are those seconds of patience that differ from the usual ones.
    """

    __tablename__ = "llm_providers"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    kind: Mapped[str] = mapped_column(String(20))
    base_url: Mapped[str] = mapped_column(String(2000), default="")
    api_key: Mapped[bytes | None] = mapped_column(LargeBinary)
    model: Mapped[str] = mapped_column(String(200), default="")
    context_tokens: Mapped[int] = mapped_column(default=8192)
    response_tokens: Mapped[int] = mapped_column(default=512)
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    is_default: Mapped[bool] = mapped_column(Boolean, default=False)
    streamable: Mapped[bool] = mapped_column(Boolean, default=True)
    timeouts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    last_tested_at: Mapped[datetime | None]
    settings_version: Mapped[int] = mapped_column(default=0)
    disabled: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[datetime]
