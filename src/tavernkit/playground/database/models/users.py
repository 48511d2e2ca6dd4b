"""People."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, String
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.database.base import Base

__all__ = ["User"]


class User(Base):
    """A person with an account; on a machine of one's own there is one, without a password."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint("role IN ('member', 'moderator', 'administrator')", name="role"),
        CheckConstraint("status IN ('active', 'inactive')", name="status"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[str] = mapped_column(String(20), default="member")
    status: Mapped[str] = mapped_column(String(20), default="active")
    created_at: Mapped[datetime]
