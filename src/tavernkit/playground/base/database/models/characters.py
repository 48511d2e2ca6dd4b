"""Characters: cards that were brought in, their earlier versions, and the pictures and files they came with."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tavernkit.playground.base.database.base import Base


class Character(Base):
    """A card: `data` is the whole V3 card as JSON, the other columns are for lists.

    `name_key` is the name as lists are sorted by it, `search_text` what is searched; neither knows upper case.
    A deleted character stays as a row without its card, so that what it said can still be told.
    """

    __tablename__ = "characters"
    __table_args__ = (
        CheckConstraint("status IN ('pending', 'ready', 'failed', 'deleting', 'deleted')", name="status"),
        Index("ix_characters_list", "owner_id", "status", "name_key", "id"),
        Index("ix_characters_recent", "owner_id", "status", "updated_at", "id"),
        Index("ix_characters_created", "owner_id", "status", "created_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    nickname: Mapped[str | None] = mapped_column(String(200))
    name_key: Mapped[str] = mapped_column(String(200), default="")
    search_text: Mapped[str] = mapped_column(Text, default="")
    personality: Mapped[str] = mapped_column(Text, default="")
    data: Mapped[dict[str, Any]]
    spec_version: Mapped[int] = mapped_column(default=3)
    file_sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    tags: Mapped[list[str]] = mapped_column(default=list)
    supported_languages: Mapped[list[str]] = mapped_column(default=list)
    version: Mapped[int] = mapped_column(default=1)
    avatar_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    thumbnail_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class CharacterVersion(Base):
    """A card as it was; the newest one is the character itself."""

    __tablename__ = "character_versions"
    __table_args__ = (UniqueConstraint("character_id", "number"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    character_id: Mapped[UUID] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"))
    number: Mapped[int]
    data: Mapped[dict[str, Any]]
    file_sha256: Mapped[str | None] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(String(100), default="")
    created_at: Mapped[datetime]


class Blob(Base):
    """Bytes by their content: avatars, thumbnails, assets."""

    __tablename__ = "blobs"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    media_type: Mapped[str] = mapped_column(String(100))
    size: Mapped[int]
    data: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]


class CharacterAsset(Base):
    """A file that belongs to a character."""

    __tablename__ = "character_assets"
    __table_args__ = (UniqueConstraint("character_id", "kind", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    character_id: Mapped[UUID] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(50))
    name: Mapped[str] = mapped_column(String(200))
    ext: Mapped[str] = mapped_column(String(20))
    uri: Mapped[str] = mapped_column(String(2000), default="")
    sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
