"""People: accounts, the sessions they have open, invitations, keys for their programs, and tries to sign in."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class SiteSetting(Base):
    """One setting by name; `value` is `{"value": …}`, so that null and false can be told apart from nothing."""

    __tablename__ = "site_settings"

    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    value: Mapped[dict[str, Any]] = mapped_column(default=dict)
    updated_at: Mapped[datetime]


_ROLES = "role IN ('member', 'moderator', 'administrator')"
_HAS_EMAIL = text("email IS NOT NULL")


class User(Base):
    """A person with an account; on a machine of one's own there is one, without a password."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint(_ROLES, name="role"),
        CheckConstraint("status IN ('active', 'inactive')", name="status"),
        Index("uq_users_email", "email", unique=True, sqlite_where=_HAS_EMAIL, postgresql_where=_HAS_EMAIL),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    email: Mapped[str | None] = mapped_column(String(320))
    password_hash: Mapped[str | None] = mapped_column(String(500))
    role: Mapped[str] = mapped_column(String(20), default="member")
    status: Mapped[str] = mapped_column(String(20), default="active")
    invitation_id: Mapped[UUID | None] = mapped_column(ForeignKey("invitations.id", ondelete="SET NULL"))
    prompt_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    time_zone: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime]


class UserSession(Base):
    """Somebody who has signed in. Only the hash of the token is kept."""

    __tablename__ = "user_sessions"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    address: Mapped[str] = mapped_column(String(100), default="")
    agent: Mapped[str] = mapped_column(String(500), default="")
    created_at: Mapped[datetime]
    last_active_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Invitation(Base):
    """A code with which others make an account, as often as it says."""

    __tablename__ = "invitations"
    __table_args__ = (CheckConstraint(_ROLES, name="role"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_by_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE", use_alter=True))
    role: Mapped[str] = mapped_column(String(20), default="member")
    note: Mapped[str] = mapped_column(String(500), default="")
    max_uses: Mapped[int] = mapped_column(default=1)
    uses_count: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class ApiKey(Base):
    """A key for a program that acts for a person. `prefix` is its beginning, by which people tell keys apart."""

    __tablename__ = "api_keys"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    prefix: Mapped[str] = mapped_column(String(20))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class KnownBrowser(Base):
    """A browser that has signed in to an account. Only the hash of its token is kept."""

    __tablename__ = "known_browsers"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime]


class SignInTries(Base):
    """How often somebody has tried to sign in since a window of time began. `key` is a hash of who it was."""

    __tablename__ = "sign_in_tries"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int]
    ends_at: Mapped[datetime] = mapped_column(index=True)
