"""Settings of the whole installation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class SiteSetting(Base):
    """One setting by name; `value` is `{"value": …}`, so that null and false can be told apart from nothing."""

    __tablename__ = "site_settings"

    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    value: Mapped[dict[str, Any]] = mapped_column(default=dict)
    updated_at: Mapped[datetime]
