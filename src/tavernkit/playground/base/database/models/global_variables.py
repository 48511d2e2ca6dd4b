"""Variables that all stories of a person share."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base, JsonText


class GlobalVariable(Base):
    """A value that macros or people have set, for every space of its owner."""

    __tablename__ = "global_variables"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    value: Mapped[Any] = mapped_column(JsonText(), nullable=True)
    updated_at: Mapped[datetime]
