"""All tables: people, providers, what they collect, spaces and their conversations, work, pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import Mapped, mapped_column, relationship

from tavernkit.injections import InjectionPosition
from tavernkit.playground.base.database.base import Base, DatedRow, EditedRow, JsonText, Row, one_of, one_place, only
from tavernkit.playground.base.database.fulltext.analysis import scope_of
from tavernkit.playground.base.names import branch_name


class SiteSetting(Base):
    """One setting by name; `value` is `{"value": …}`, so that null and false can be told apart from nothing."""

    __tablename__ = "site_settings"

    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    value: Mapped[dict[str, Any]] = mapped_column(default=dict)
    updated_at: Mapped[datetime]


_ROLES = ("member", "moderator", "administrator")


class User(DatedRow):
    """A person with an account; on a machine of one's own there is one, without a password.

    `daily_tokens` and `daily_cost` are limits of this account alone; None is that of the site, and 0 is no limit.
    """

    __tablename__ = "users"
    __table_args__ = (
        one_of("role", *_ROLES),
        one_of("status", "active", "inactive"),
        Index("uq_users_email", "email", unique=True, **only("email IS NOT NULL")),
    )

    name: Mapped[str] = mapped_column(String(200))
    email: Mapped[str | None] = mapped_column(String(320))
    password_hash: Mapped[str | None] = mapped_column(String(500))
    role: Mapped[str] = mapped_column(String(20), default="member")
    status: Mapped[str] = mapped_column(String(20), default="active")
    invitation_id: Mapped[UUID | None] = mapped_column(ForeignKey("invitations.id", ondelete="SET NULL"))
    prompt_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    time_zone: Mapped[str | None] = mapped_column(String(64))
    language: Mapped[str | None] = mapped_column(String(16))
    daily_tokens: Mapped[int | None] = mapped_column(BigInteger)
    daily_cost: Mapped[float | None]
    appearance: Mapped[dict[str, Any] | None]
    shortcuts: Mapped[dict[str, Any] | None]


class PasswordReset(Base):
    """A code with which one person sets a new password, once. A new code replaces the one before."""

    __tablename__ = "password_resets"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires_at: Mapped[datetime]


class UserSession(DatedRow):
    """Somebody who has signed in. Only the hash of the token is kept."""

    __tablename__ = "user_sessions"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    address: Mapped[str] = mapped_column(String(100), default="")
    agent: Mapped[str] = mapped_column(String(500), default="")
    last_active_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Invitation(DatedRow):
    """A code with which others make an account, as often as it says."""

    __tablename__ = "invitations"
    __table_args__ = (one_of("role", *_ROLES),)

    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_by_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE", use_alter=True))
    role: Mapped[str] = mapped_column(String(20), default="member")
    note: Mapped[str] = mapped_column(String(500), default="")
    max_uses: Mapped[int] = mapped_column(default=1)
    uses_count: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class ApiKey(DatedRow):
    """A key for a program that acts for a person. `prefix` is its beginning, by which people tell keys apart."""

    __tablename__ = "api_keys"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    prefix: Mapped[str] = mapped_column(String(20))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class KnownBrowser(DatedRow):
    """A browser that has signed in to an account. Only the hash of its token is kept."""

    __tablename__ = "known_browsers"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    last_used_at: Mapped[datetime]


class SignInTries(Base):
    """How often somebody has tried to sign in since a window of time began. `key` is a hash of who it was."""

    __tablename__ = "sign_in_tries"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int]
    ends_at: Mapped[datetime] = mapped_column(index=True)


class Provider(DatedRow):
    """A model and how to reach it. The key is encrypted with this row's id as associated data.

    `timeouts` are those seconds of patience that differ from the usual ones. The tokenizer is the file that prompts for
    it are counted with, where it has one. Whether it sees pictures, the name of its model decides
    where nobody has said so.
    """

    __tablename__ = "llm_providers"
    __table_args__ = (one_of("sees_pictures", "auto", "yes", "no"),)

    name: Mapped[str] = mapped_column(String(200), unique=True)
    kind: Mapped[str] = mapped_column(String(20))
    base_url: Mapped[str] = mapped_column(String(2000), default="")
    api_key: Mapped[bytes | None] = mapped_column(LargeBinary)
    model: Mapped[str] = mapped_column(String(200), default="")
    context_tokens: Mapped[int] = mapped_column(default=8192)
    response_tokens: Mapped[int] = mapped_column(default=512)
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    is_default: Mapped[bool] = mapped_column(default=False)
    streamable: Mapped[bool] = mapped_column(default=True)
    timeouts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    last_tested_at: Mapped[datetime | None]
    settings_version: Mapped[int] = mapped_column(default=0)
    disabled: Mapped[bool] = mapped_column(default=False)
    tokenizer_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    sees_pictures: Mapped[str] = mapped_column(String(10), default="auto")


class ModelPrice(Base):
    """What a model costs, in dollars for a million tokens; `model` is its name as providers have it.

    Without a price of their own, tokens that were read from a cache or written to it cost what others of the prompt do.
    """

    __tablename__ = "model_prices"

    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    prompt_price: Mapped[float]
    completion_price: Mapped[float]
    cached_price: Mapped[float | None]
    cache_write_price: Mapped[float | None]
    updated_at: Mapped[datetime]


class OwnModelPrice(Base):
    """What a model costs one person, in their own stories, whatever the price of the site is."""

    __tablename__ = "own_model_prices"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    prompt_price: Mapped[float]
    completion_price: Mapped[float]
    cached_price: Mapped[float | None]
    cache_write_price: Mapped[float | None]
    updated_at: Mapped[datetime]


class Character(EditedRow):
    """A card: `data` is the whole V3 card as JSON, the other columns are for lists.

    `name_key` is the name as lists are sorted by it, `search_text` what is searched; neither knows upper case.
    `own_tags` are those that its owner has given it, which the card knows nothing of. `file` is what the folder that it
    was imported from says about it: the name of the card's file (`avatar`), and its own tags by their ids (`tags`).
    One in the trash is `deleting`. One that is deleted for good stays as a row without its card for as long as there
    are messages of it, so that they still have a name.
    """

    __tablename__ = "characters"
    __table_args__ = (
        one_of("status", "pending", "ready", "failed", "deleting", "deleted"),
        Index("ix_characters_list", "owner_id", "status", "name_key", "id"),
        Index("ix_characters_recent", "owner_id", "status", "updated_at", "id"),
        Index("ix_characters_created", "owner_id", "status", "created_at", "id"),
        Index("ix_characters_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

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
    own_tags: Mapped[list[str]] = mapped_column(default=list)
    file: Mapped[dict[str, Any]] = mapped_column(default=dict)
    supported_languages: Mapped[list[str]] = mapped_column(default=list)
    version: Mapped[int] = mapped_column(default=1)
    avatar_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    thumbnail_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    deleted_at: Mapped[datetime | None]
    trashed_at: Mapped[datetime | None]


class CharacterVersion(DatedRow):
    """A card as it was; the newest one is the character itself."""

    __tablename__ = "character_versions"
    __table_args__ = (UniqueConstraint("character_id", "number"),)

    character_id: Mapped[UUID] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"))
    number: Mapped[int]
    data: Mapped[dict[str, Any]]
    file_sha256: Mapped[str | None] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(String(100), default="")


class Blob(Base):
    """Bytes by their content: avatars, thumbnails, assets, pictures in messages, backgrounds, tokenizers."""

    __tablename__ = "blobs"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    media_type: Mapped[str] = mapped_column(String(100))
    size: Mapped[int]
    data: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]


class CharacterAsset(Row):
    """A file that belongs to a character."""

    __tablename__ = "character_assets"
    __table_args__ = (UniqueConstraint("character_id", "kind", "name"),)

    character_id: Mapped[UUID] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(50))
    name: Mapped[str] = mapped_column(String(200))
    ext: Mapped[str] = mapped_column(String(20))
    uri: Mapped[str] = mapped_column(String(2000), default="")
    sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))


class Persona(EditedRow):
    """A name and a description, and where in the prompt the description goes.

    `file` is what SillyTavern's backup said: the file name of the picture (`avatar`) and everything else (`entry`). Of
    one that came with a whole folder it has the source of that, and the name that it had there (`name`).
    """

    __tablename__ = "personas"
    __table_args__ = (
        one_of("position", "in_prompt", "top_of_note", "bottom_of_note", "at_depth", "none"),
        one_of("role", "system", "user", "assistant"),
        Index("ix_personas_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    title: Mapped[str] = mapped_column(String(200), default="")
    description: Mapped[str] = mapped_column(Text, default="")
    position: Mapped[str] = mapped_column(String(20), default="in_prompt")
    depth: Mapped[int] = mapped_column(default=2)
    role: Mapped[str] = mapped_column(String(20), default="system")
    avatar_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    is_default: Mapped[bool] = mapped_column(default=False)
    file: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    trashed_at: Mapped[datetime | None]


class PersonaConnection(DatedRow):
    """What selects a persona: a character in new stories, or one conversation.

    `key` is what SillyTavern calls the character, the file name of its card; it stands alone where no such character is
    here. Of the kind `other` are groups in SillyTavern. `source` is what its backup said.
    """

    __tablename__ = "persona_connections"
    __table_args__ = (
        one_of("kind", "character", "conversation", "other"),
        UniqueConstraint("persona_id", "character_id"),
        # A person is one persona in a conversation.
        UniqueConstraint("owner_id", "conversation_id"),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    persona_id: Mapped[UUID] = mapped_column(ForeignKey("personas.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    key: Mapped[str] = mapped_column(String(300), default="", index=True)
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="SET NULL"), index=True)
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    position: Mapped[int] = mapped_column(default=0)
    source: Mapped[dict[str, Any]] = mapped_column(default=dict)


class QuickReplySet(EditedRow):
    """Buttons above the composer. `data` is the set as SillyTavern writes it; `file` is what was imported, where that
    was in an older format. One in the trash leaves its name to others."""

    __tablename__ = "quick_reply_sets"
    __table_args__ = (
        Index("uq_quick_reply_sets_name", "owner_id", "name", unique=True, **only("trashed_at IS NULL")),
        Index("ix_quick_reply_sets_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    file: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    trashed_at: Mapped[datetime | None]


class QuickReplyLink(DatedRow):
    """A set of quick replies in use: in all stories of its owner, in a space, or with a character."""

    __tablename__ = "quick_reply_links"
    __table_args__ = (
        one_place("user_id", "space_id", "character_id"),
        UniqueConstraint("set_id", "user_id"),
        UniqueConstraint("set_id", "space_id"),
        UniqueConstraint("set_id", "character_id"),
    )

    set_id: Mapped[UUID] = mapped_column(ForeignKey("quick_reply_sets.id", ondelete="CASCADE"))
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"), index=True)
    visible: Mapped[bool] = mapped_column(default=True)
    position: Mapped[int] = mapped_column(default=0)


class Preset(EditedRow):
    """A preset of one of SillyTavern's kinds, or of RisuAI, or a module of RisuAI; `data` is the file, unpacked, and
    `original` the file as it was imported. One without an owner is everybody's. One in the trash leaves its name to
    others."""

    __tablename__ = "presets"
    __table_args__ = (
        one_of(
            "kind", "chat", "text", "instruct", "context", "system_prompt", "reasoning", "master", "risuai", "module"
        ),
        Index("uq_presets_name", "owner_id", "kind", "name", unique=True, **only("trashed_at IS NULL")),
        Index("ix_presets_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(String(2000), default="")
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    original: Mapped[dict[str, Any] | None] = mapped_column(JsonText, deferred=True)
    settings_version: Mapped[int] = mapped_column(default=0)
    trashed_at: Mapped[datetime | None]


class ScriptList(EditedRow):
    """The regex scripts that a person uses in every space, or those of one space; `data` has a list for each platform,
    of scripts as its files have them."""

    __tablename__ = "script_lists"
    __table_args__ = (one_place("owner_id", "space_id"),)

    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), unique=True)
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), unique=True)
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)


class Lorebook(EditedRow):
    """A book. `data` is everything the file said about the book itself, so that it can be written back. One in the
    trash is `deleting`."""

    __tablename__ = "lorebooks"
    __table_args__ = (
        one_of("status", "ready", "deleting"),
        Index("ix_lorebooks_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text, default="")
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    entries_count: Mapped[int] = mapped_column(default=0)
    file_sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    settings_version: Mapped[int] = mapped_column(default=0)
    trashed_at: Mapped[datetime | None]


class LorebookEntry(Row):
    """An entry; `data` is the whole entry in SillyTavern's World Info form, the other columns are for lists.

    `insertion_position` is where it goes in prompts, `search_text` its title, keys and content, casefolded. `tokens`
    are estimated; None where nobody has counted them yet.
    """

    __tablename__ = "lorebook_entries"
    __table_args__ = (UniqueConstraint("lorebook_id", "uid"), Index(None, "lorebook_id", "position"))

    lorebook_id: Mapped[UUID] = mapped_column(ForeignKey("lorebooks.id", ondelete="CASCADE"))
    uid: Mapped[int]
    position: Mapped[int] = mapped_column(default=0)
    comment: Mapped[str] = mapped_column(Text, default="")
    enabled: Mapped[bool] = mapped_column(default=True)
    constant: Mapped[bool] = mapped_column(default=False)
    insertion_position: Mapped[int] = mapped_column(default=0, server_default="0")
    search_text: Mapped[str] = mapped_column(Text, default="", server_default="")
    tokens: Mapped[int | None]
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    revision: Mapped[int] = mapped_column(default=1)
    updated_at: Mapped[datetime]


class LorebookLink(DatedRow):
    """A book in use: in all stories of a person, in a space, a conversation, with a character or a persona; exactly one
    of the five."""

    __tablename__ = "lorebook_links"
    __table_args__ = (
        one_place("space_id", "conversation_id", "character_id", "persona_id", "user_id"),
        UniqueConstraint("lorebook_id", "space_id"),
        UniqueConstraint("lorebook_id", "conversation_id"),
        UniqueConstraint("lorebook_id", "character_id"),
        UniqueConstraint("lorebook_id", "persona_id"),
        UniqueConstraint("lorebook_id", "user_id"),
    )

    lorebook_id: Mapped[UUID] = mapped_column(ForeignKey("lorebooks.id", ondelete="CASCADE"))
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"), index=True)
    persona_id: Mapped[UUID | None] = mapped_column(ForeignKey("personas.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    enabled: Mapped[bool] = mapped_column(default=True)
    position: Mapped[int] = mapped_column(default=0)


class SpaceMembership(DatedRow):
    """A person or a character in a space. Rows are never deleted: messages point to their author here.

    `persona` is the text of a persona that is this membership's own; `persona_id` one of the person's personas.
    The copilot writes in one conversation, or in all of the space where none is named.
    """

    __tablename__ = "space_memberships"
    __table_args__ = (
        one_of("kind", "human", "character"),
        one_of("role", "owner", "member", "moderator"),
        one_of("status", "active", "removed"),
        one_of("participation", "active", "muted", "observer"),
        one_of("copilot_mode", "none", "full"),
        CheckConstraint("copilot_remaining_steps BETWEEN 0 AND 10", name="copilot_remaining_steps"),
        CheckConstraint(
            "(kind = 'human' AND user_id IS NOT NULL) OR "
            "(kind = 'character' AND user_id IS NULL AND (character_id IS NOT NULL OR status = 'removed'))",
            name="identity",
        ),
        Index("uq_space_memberships_user", "space_id", "user_id", unique=True, **only("user_id IS NOT NULL")),
        Index("ix_space_memberships_user_id", "user_id", **only("user_id IS NOT NULL")),
        Index(
            "uq_space_memberships_character",
            "space_id",
            "character_id",
            unique=True,
            **only("character_id IS NOT NULL"),
        ),
    )

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
    unread_at: Mapped[datetime | None]
    removed_at: Mapped[datetime | None]
    removed_by_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    removed_reason: Mapped[str | None] = mapped_column(String(500))


def _search_scope(context: DefaultExecutionContext) -> str:
    new: Mapping[str, Any] = context.get_current_parameters()  # type: ignore[no-untyped-call]
    return scope_of(new["id"] if new.get("kind") == "discussion" else new["owner_id"])


class Space(EditedRow):
    """Permissions, participants and settings; never anything that is running.

    `settings_version` grows with every change: who writes what was read before it is refused. Nobody sees a space that
    is `deleting`: it is in the trash, and was `trashed_from` another status, or it is being imported or removed.
    `search_scope` is the part of the search index in which its texts are, and never changes: that of its first owner,
    or one of its own where several people take part.
    """

    __tablename__ = "spaces"
    __table_args__ = (
        Index("ix_spaces_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
        one_of("kind", "playground", "discussion"),
        one_of("status", "active", "archived", "deleting"),
        one_of("reply_order", "manual", "natural", "list", "pooled"),
        one_of("card_handling_mode", "swap", "append", "append_disabled"),
        one_of("during_generation_user_input_policy", "reject", "queue", "restart"),
        one_of("group_regenerate_mode", "single_message", "last_turn"),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    kind: Mapped[str] = mapped_column(String(20), default="playground")
    name: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(20), default="active")
    reply_order: Mapped[str] = mapped_column(String(20), default="natural")
    card_handling_mode: Mapped[str] = mapped_column(String(20), default="swap")
    allow_self_responses: Mapped[bool] = mapped_column(default=False)
    auto_mode_enabled: Mapped[bool] = mapped_column(default=False)
    auto_mode_delay_ms: Mapped[int] = mapped_column(default=5000)
    during_generation_user_input_policy: Mapped[str] = mapped_column(String(20), default="reject")
    user_turn_debounce_ms: Mapped[int] = mapped_column(default=0)
    group_regenerate_mode: Mapped[str] = mapped_column(String(20), default="single_message")
    relax_message_trim: Mapped[bool] = mapped_column(default=False)
    provider_id: Mapped[UUID | None] = mapped_column(ForeignKey("llm_providers.id", ondelete="SET NULL"))
    preset_id: Mapped[UUID | None] = mapped_column(ForeignKey("presets.id", ondelete="SET NULL"))
    prompt_settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    token_limit: Mapped[int] = mapped_column(BigInteger, default=0)
    prompt_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    background_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256"))
    trashed_at: Mapped[datetime | None]
    trashed_from: Mapped[str | None] = mapped_column(String(20))
    search_scope: Mapped[str] = mapped_column(String(10), default=_search_scope, server_default="")


class SpaceInvitation(DatedRow):
    """A link with which people who have an account join a space, as often as it says. Only its hash is kept."""

    __tablename__ = "space_invitations"
    __table_args__ = (one_of("role", "moderator", "member", "observer"),)

    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)
    created_by_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(20), default="member")
    max_uses: Mapped[int] = mapped_column(default=1)
    uses_count: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Share(DatedRow):
    """A character, lorebook or preset that others may read and use: the members of a space, or everybody who has an
    account here where there is no space."""

    __tablename__ = "shares"
    __table_args__ = (
        one_place("character_id", "lorebook_id", "preset_id"),
        UniqueConstraint("character_id", "space_id"),
        UniqueConstraint("lorebook_id", "space_id"),
        UniqueConstraint("preset_id", "space_id"),
        *(
            Index(f"uq_shares_{column}_everybody", column, unique=True, **only("space_id IS NULL"))
            for column in ("character_id", "lorebook_id", "preset_id")
        ),
    )

    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"))
    lorebook_id: Mapped[UUID | None] = mapped_column(ForeignKey("lorebooks.id", ondelete="CASCADE"))
    preset_id: Mapped[UUID | None] = mapped_column(ForeignKey("presets.id", ondelete="CASCADE"))
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), index=True)


class GlobalVariable(Base):
    """A value that macros or people have set, for every space of its owner."""

    __tablename__ = "global_variables"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    value: Mapped[Any] = mapped_column(JsonText(), nullable=True)
    updated_at: Mapped[datetime]


class OutboxEvent(Base):
    """Something that happened in a conversation, numbered without gaps and written in the same transaction."""

    __tablename__ = "outbox_events"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(50))
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime]


class Conversation(EditedRow):
    """A timeline. `last_seq` and `last_event` are the highest numbers given to a message and to an event in it.

    `messages_count` counts the messages that are not hidden. Chat variables and lore timers are not here: they are
    deltas on swipes, so that they follow the path through the messages. One in the trash is `deleting`; `trashed_from`
    is its status before, and `regrafted` says of each of its branches where it hung, and where it was put.

    `left_at` is the number and the first words of the message that a branch without a title of its own goes on from;
    its `title` is then made from them, in the language of whoever made the branch. `name` is what pages show.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        one_of("kind", "root", "branch", "thread", "checkpoint"),
        one_of("visibility", "shared", "private", "public"),
        one_of("status", "ready", "pending", "failed", "archived", "deleting"),
        Index("ix_conversations_recent", "updated_at"),
        Index("ix_conversations_public", "updated_at", **only("visibility = 'public'")),
        Index("ix_conversations_space_recent", "space_id", "updated_at"),
        Index("ix_conversations_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(20), default="root")
    title: Mapped[str] = mapped_column(String(200))
    left_at: Mapped[dict[str, Any] | None]
    visibility: Mapped[str] = mapped_column(String(20), default="shared")
    parent_conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"), index=True)
    root_conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id"), index=True)
    forked_from_message_id: Mapped[UUID | None] = mapped_column(index=True)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    settings_version: Mapped[int] = mapped_column(default=0)
    auto_mode_remaining_rounds: Mapped[int | None]
    turns_count: Mapped[int] = mapped_column(default=0)
    messages_count: Mapped[int] = mapped_column(default=0)
    prompt_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens_total: Mapped[int] = mapped_column(BigInteger, default=0)
    last_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    last_event: Mapped[int] = mapped_column(BigInteger, default=0)
    trashed_at: Mapped[datetime | None]
    trashed_from: Mapped[str | None] = mapped_column(String(20))
    regrafted: Mapped[dict[str, Any] | None]

    @property
    def has_own_title(self) -> bool:
        return self.left_at is None

    @property
    def name(self) -> str:
        """Its title, or, where it has none of its own, where it leaves, in the reader's language."""
        return self.title if self.left_at is None else branch_name(self.left_at)


class StoryPin(Base):
    """A space that a person has pinned: it stands first in their list."""

    __tablename__ = "story_pins"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), primary_key=True, index=True)
    created_at: Mapped[datetime]


class StoryTag(Base):
    """A tag that a person has given a space, for their own list; `key` is the tag as it is compared."""

    __tablename__ = "story_tags"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    space_id: Mapped[UUID] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), primary_key=True, index=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    position: Mapped[int]
    tag: Mapped[str] = mapped_column(String(200))


class ReadPosition(Base):
    """The number of the last message of a conversation that a person has seen. Where there is no row, nothing in the
    conversation is new to them."""

    __tablename__ = "read_positions"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    seq: Mapped[int] = mapped_column(BigInteger)


class SharedLink(DatedRow):
    """A link with which anybody reads one conversation, and those that were forked from it if `with_branches`.

    Only the hash of its token is kept, and a link that is revoked is gone.
    """

    __tablename__ = "shared_links"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    created_by_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    with_branches: Mapped[bool]
    expires_at: Mapped[datetime | None]


class TextContent(Row):
    """A text that never changes, so that a message, its swipe and their copies in every branch can share it."""

    __tablename__ = "text_contents"

    content: Mapped[str] = mapped_column(Text)


class Message(DatedRow):
    """What somebody said. Its text is that of its active swipe; `seq` is its place in the conversation.

    `revision` grows with every change to the message: who writes what was read before it is refused. A hidden message
    is in the trash since `trashed_at`.
    """

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_id", "seq"),
        one_of("role", "user", "assistant", "system"),
        one_of("visibility", "normal", "excluded", "hidden"),
        Index("ix_messages_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"), index=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    role: Mapped[str] = mapped_column(String(20))
    text_id: Mapped[UUID] = mapped_column(ForeignKey("text_contents.id"), index=True)
    visibility: Mapped[str] = mapped_column(String(20), default="normal")
    hidden_from: Mapped[str | None] = mapped_column(String(20))
    trashed_at: Mapped[datetime | None]
    active_swipe_id: Mapped[UUID | None]
    swipes_count: Mapped[int] = mapped_column(default=0)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"), index=True)
    origin_message_id: Mapped[UUID | None]
    revision: Mapped[int] = mapped_column(default=1)
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)

    text: Mapped[TextContent] = relationship(lazy="joined", innerjoin=True)

    @property
    def content(self) -> str:
        return self.text.content


class MessageSwipe(DatedRow):
    """One version of a message. `state_delta` is what this version has changed in the story's state."""

    __tablename__ = "message_swipes"
    __table_args__ = (UniqueConstraint("message_id", "position"),)

    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    position: Mapped[int]
    text_id: Mapped[UUID] = mapped_column(ForeignKey("text_contents.id"), index=True)
    state_delta: Mapped[dict[str, Any] | None]
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"), index=True)

    text: Mapped[TextContent] = relationship(lazy="joined", innerjoin=True)

    @property
    def content(self) -> str:
        return self.text.content


class MessagePicture(DatedRow):
    """A picture of one version of a message; one without a swipe was uploaded and not sent yet.

    `attached` ones are shown and sent to models that see. `kept` ones are further pictures that a chat file has for the
    message. The `expression` is the face of the character beside it, and its title the emotion.
    """

    __tablename__ = "message_pictures"
    __table_args__ = (
        one_of("kind", "attached", "kept", "expression"),
        Index("ix_message_pictures_unsent", "created_at", **only("swipe_id IS NULL")),
    )

    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    swipe_id: Mapped[UUID | None] = mapped_column(ForeignKey("message_swipes.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20), default="attached")
    position: Mapped[int] = mapped_column(default=0)
    sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"), index=True)
    width: Mapped[int]
    height: Mapped[int]
    title: Mapped[str] = mapped_column(String(500), default="")


class PathSnapshot(Base):
    """The state of the story right behind a message, so that it need not be replayed from the beginning."""

    __tablename__ = "path_snapshots"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    state: Mapped[dict[str, Any]] = mapped_column(default=dict)


class ConversationInjection(Base):
    """A text that goes into every prompt of a conversation; one that is `ephemeral`, into one prompt.

    The state of the story names the `token` of an ephemeral one that was used, so that it is there again where the
    reply is told anew or deleted. It is another one whenever the injection is set. `after_seq` is the last message that
    there was then.
    """

    __tablename__ = "conversation_injections"
    __table_args__ = (
        one_of("position", "before", "after", "chat", "none"),
        one_of("role", "system", "user", "assistant"),
    )

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    token: Mapped[UUID]
    content: Mapped[str] = mapped_column(Text)
    position: Mapped[InjectionPosition] = mapped_column(String(20))
    depth: Mapped[int]
    role: Mapped[str] = mapped_column(String(20))
    scan: Mapped[bool]
    ephemeral: Mapped[bool]
    after_seq: Mapped[int] = mapped_column(BigInteger)


class Round(DatedRow):
    """A queue of speakers. The database allows one active round per conversation."""

    __tablename__ = "conversation_rounds"
    __table_args__ = (
        one_of("status", "active", "finished", "superseded", "canceled"),
        CheckConstraint(
            "(status = 'active') = (scheduling_state IS NOT NULL)"
            " AND (scheduling_state IS NULL OR scheduling_state IN ('ai_generating', 'paused', 'failed'))",
            name="scheduling_state",
        ),
        Index("uq_conversation_rounds_active", "conversation_id", unique=True, **only("status = 'active'")),
    )

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    status: Mapped[str] = mapped_column(String(20), default="active")
    scheduling_state: Mapped[str | None] = mapped_column(String(20), default="ai_generating")
    current_position: Mapped[int] = mapped_column(default=0)
    trigger_message_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("messages.id", ondelete="SET NULL", use_alter=True)
    )
    ended_reason: Mapped[str | None] = mapped_column(String(100))
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    finished_at: Mapped[datetime | None]


class RoundSlot(Row):
    """One turn in a round; the same member may have several."""

    __tablename__ = "conversation_round_slots"
    __table_args__ = (
        UniqueConstraint("round_id", "position"),
        one_of("status", "pending", "spoken", "skipped"),
    )

    round_id: Mapped[UUID] = mapped_column(ForeignKey("conversation_rounds.id", ondelete="CASCADE"))
    position: Mapped[int]
    membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"))
    status: Mapped[str] = mapped_column(String(20), default="pending")
    reason: Mapped[dict[str, Any]] = mapped_column(default=dict)
    finished_at: Mapped[datetime | None]
    skip_reason: Mapped[str | None] = mapped_column(String(100))


class PromptPiece(Base):
    """A part of prompts, once, however many it stands in: its JSON, compressed, and the keys of the pieces in it."""

    __tablename__ = "prompt_pieces"

    key: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    links: Mapped[bytes] = mapped_column(LargeBinary)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class PromptBlock(Base):
    """The text of a block of prompts that earlier versions have kept."""

    __tablename__ = "prompt_blocks"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[str] = mapped_column(Text)


class PromptSnapshot(Base):
    """One prompt: `root` is the piece that it begins with, `report` what is asked of many prompts at once.

    Those that earlier versions have kept have no pieces: `blocks` lists each block's hash, role and source in order,
    `request` what else was sent.
    """

    __tablename__ = "prompt_snapshots"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("conversation_runs.id", ondelete="CASCADE"), primary_key=True)
    root: Mapped[bytes | None] = mapped_column(LargeBinary)
    blocks: Mapped[dict[str, Any]] = mapped_column(default=dict)
    request: Mapped[dict[str, Any]] = mapped_column(default=dict)
    report: Mapped[dict[str, Any]] = mapped_column(default=dict)
    fingerprint: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(index=True)


class InputDocument(Base):
    """A card, a lorebook, a preset, a group of messages…, as prompts were built from it: JSON, compressed, once by the
    hash of it. One that `has_parts` names others."""

    __tablename__ = "input_documents"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    has_parts: Mapped[bool]


class PromptInputRecord(Base):
    """What one prompt was built from: JSON, compressed, that names documents and blocks by their hashes."""

    __tablename__ = "prompt_inputs"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("prompt_snapshots.run_id", ondelete="CASCADE"), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class ReplyStream(Base):
    """What a provider sent for one reply, piece by piece, and what became of it: JSON, compressed."""

    __tablename__ = "reply_streams"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("prompt_snapshots.run_id", ondelete="CASCADE"), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(index=True)


class Claimed(DatedRow):
    """Work that a worker claims when it is due, for as long as its lease holds.

    `fence` grows with every claim: a worker that lost its lease carries an old one, and its writes match nothing.
    """

    __abstract__ = True

    run_after: Mapped[datetime]
    cancel_requested_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    lease_expires_at: Mapped[datetime | None]
    worker: Mapped[str | None] = mapped_column(String(100))
    fence: Mapped[int] = mapped_column(BigInteger, default=0)


class Run(Claimed):
    """The state of one generation. The database allows one running and one queued run per conversation.

    `text` is what has been generated so far, written about once a second. `replied_at` says that the reply is stored,
    while steps behind it may still be at work. `limits` are those of who asked for it: `max_tokens` and `stop`.
    `model` is the one that has answered, `cost` and `cached_tokens` what its provider has said. Of the
    `compared_tokens` of its prompt, `common_tokens` begin it as they began the conversation's prompt before.
    """

    __tablename__ = "conversation_runs"
    __table_args__ = (
        one_of("kind", "user_turn", "auto_mode", "regenerate", "force_talk", "copilot", "continue", "impersonate"),
        one_of("status", "queued", "running", "succeeded", "failed", "canceled", "skipped"),
        Index("uq_conversation_runs_running", "conversation_id", unique=True, **only("status = 'running'")),
        Index("uq_conversation_runs_queued", "conversation_id", unique=True, **only("status = 'queued'")),
        Index("ix_conversation_runs_due", "status", "run_after"),
        Index("ix_conversation_runs_recent", "conversation_id", "created_at"),
        Index("ix_conversation_runs_replied", "replied_at", **only("replied_at IS NOT NULL")),
        Index(
            "ix_conversation_runs_undecided",
            "conversation_id",
            sqlite_where=text("dismissed = 0"),
            postgresql_where=text("NOT dismissed"),
        ),
    )

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(String(100))
    speaker_membership_id: Mapped[UUID] = mapped_column(ForeignKey("space_memberships.id"))
    round_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_rounds.id", ondelete="SET NULL"), index=True)
    round_position: Mapped[int | None]
    target_message_id: Mapped[UUID | None]
    limits: Mapped[dict[str, Any] | None]
    started_at: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    text: Mapped[str] = mapped_column(Text, default="")
    replied_at: Mapped[datetime | None]
    dismissed: Mapped[bool] = mapped_column(default=False)
    model: Mapped[str | None] = mapped_column(String(200))
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    cached_tokens: Mapped[int | None]
    common_tokens: Mapped[int | None]
    compared_tokens: Mapped[int | None]
    cost: Mapped[float | None]
    error: Mapped[dict[str, Any] | None]
    debug: Mapped[dict[str, Any]] = mapped_column(default=dict)


class Job(Claimed):
    """A piece of work; `done` of `total` steps are through."""

    __tablename__ = "jobs"
    __table_args__ = (
        one_of("status", "queued", "running", "succeeded", "failed", "canceled"),
        Index("ix_jobs_due", "status", "run_after"),
    )

    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(50))
    status: Mapped[str] = mapped_column(String(20), default="queued")
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)
    result: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[dict[str, Any] | None]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)


class UsageEntry(DatedRow):
    """What one question to a model has used. It counts for its owner, also where the conversation is deleted.

    One that `is_open` is being answered: its figures are the most that it may use, and count against budgets for as
    long as its run or its job is running. `name` is the step that has asked; `cost` is what the provider has said.
    """

    __tablename__ = "usage_entries"
    __table_args__ = (
        one_of("kind", "reply", "step", "suggestion", "dry_run", "expression"),
        Index("ix_usage_entries_owner", "owner_id", "created_at"),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    conversation_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("conversations.id", ondelete="SET NULL"), index=True
    )
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="SET NULL"), index=True)
    job_id: Mapped[UUID | None]
    kind: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(200), default="")
    model: Mapped[str] = mapped_column(String(200))
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cached_tokens: Mapped[int | None]
    cache_write_tokens: Mapped[int | None]
    cost: Mapped[float | None]
    is_estimated: Mapped[bool] = mapped_column(default=False)
    is_open: Mapped[bool] = mapped_column(default=False)


class Budget(DatedRow):
    """How much may be used in a conversation with its branches, in a space, or in everything that a person owns.

    It counts by the day or the month in UTC, or everything; None is no limit. Above `warn_percent` people are warned.
    """

    __tablename__ = "budgets"
    __table_args__ = (
        one_of("period", "day", "month", "total"),
        one_place("conversation_id", "space_id", "user_id"),
        UniqueConstraint("conversation_id", "period"),
        UniqueConstraint("space_id", "period"),
        UniqueConstraint("user_id", "period"),
    )

    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"))
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    period: Mapped[str] = mapped_column(String(10))
    tokens: Mapped[int | None] = mapped_column(BigInteger)
    cost: Mapped[float | None]
    warn_percent: Mapped[int] = mapped_column(default=80)


class JobFile(Base):
    """A file that came with a job: its bytes until it has been dealt with, then what became of it."""

    __tablename__ = "job_files"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(300))
    outcome: Mapped[dict[str, Any] | None]
    data: Mapped[bytes | None] = mapped_column(LargeBinary)


class ImportSource(EditedRow):
    """A folder or backup of another application that something was imported from, by its owner's account. Files of
    one source are the same file when they have the same path, whatever they contain."""

    __tablename__ = "import_sources"
    __table_args__ = (one_of("application", "sillytavern", "risuai"),)

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    application: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(300))


class FolderImport(EditedRow):
    """One import of a source: where its files are, how far it is, what was chosen, and what was found.

    `place` is the path of the folder or file on the machine of the worker; `is_uploaded` says that it is ours and is
    removed at the end. The source is known once it has been scanned.
    """

    __tablename__ = "folder_imports"
    __table_args__ = (
        one_of("status", "receiving", "scanning", "scanned", "importing", "paused", "done", "failed", "discarded"),
    )

    owner_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    source_id: Mapped[UUID | None] = mapped_column(ForeignKey("import_sources.id", ondelete="SET NULL"), index=True)
    job_id: Mapped[UUID | None]
    status: Mapped[str] = mapped_column(String(20), default="receiving")
    place: Mapped[str] = mapped_column(Text, default="")
    is_uploaded: Mapped[bool] = mapped_column(default=False)
    name: Mapped[str] = mapped_column(String(300), default="")
    choices: Mapped[dict[str, Any]] = mapped_column(default=dict)
    summary: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[dict[str, Any] | None]
    finished_at: Mapped[datetime | None]


class ImportItem(Base):
    """One file of an import: what the scan found, and what became of it. A line of the report.

    `state` compares it with what is here: `new`; `same` bytes were imported from this source before; `changed` since;
    `duplicate` of something that came from elsewhere. `verdict` is None until the item is dealt with. `plan` is what
    the scan has found out for the import, `notes` are sentences of the report. `choice` is what somebody has decided
    about this item alone.
    """

    __tablename__ = "import_items"
    __table_args__ = (
        one_of("state", "new", "same", "changed", "duplicate", "refused"),
        one_of("verdict", "exact", "converted", "kept", "refused", "duplicate", "unchanged", "skipped"),
        one_of("choice", "skip", "keep", "replace", "both"),
        UniqueConstraint("import_id", "path"),
        Index("ix_import_items_todo", "import_id", "rank", "position", **only("verdict IS NULL")),
    )

    import_id: Mapped[UUID] = mapped_column(ForeignKey("folder_imports.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    path: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(20))
    detail: Mapped[str] = mapped_column(String(100), default="")
    rank: Mapped[int] = mapped_column(default=0)
    size: Mapped[int] = mapped_column(BigInteger, default=0)
    modified: Mapped[datetime | None]
    sha256: Mapped[str | None] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(20), default="new")
    plan: Mapped[dict[str, Any]] = mapped_column(default=dict)
    choice: Mapped[str | None] = mapped_column(String(10))
    verdict: Mapped[str | None] = mapped_column(String(20))
    notes: Mapped[dict[str, Any]] = mapped_column(default=dict)
    target_kind: Mapped[str | None] = mapped_column(String(20))
    target_id: Mapped[UUID | None]


class ImportedFile(Base):
    """A file of a source as it was last imported: its bytes, and what it became.

    `sha256` is that of the file, `kept_sha256` that of the bytes that are kept: they differ where secrets were blanked.
    As long as `marker` is that of its target, the target is unchanged, and an export writes the kept bytes.
    """

    __tablename__ = "imported_files"
    __table_args__ = (Index("ix_imported_files_target", "target_kind", "target_id"),)

    source_id: Mapped[UUID] = mapped_column(ForeignKey("import_sources.id", ondelete="CASCADE"), primary_key=True)
    path: Mapped[str] = mapped_column(Text, primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    detail: Mapped[str] = mapped_column(String(100), default="")
    size: Mapped[int] = mapped_column(BigInteger)
    modified: Mapped[datetime | None]
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    kept_sha256: Mapped[str | None] = mapped_column(ForeignKey("kept_files.sha256"), index=True)
    import_id: Mapped[UUID | None] = mapped_column(ForeignKey("folder_imports.id", ondelete="SET NULL"), index=True)
    target_kind: Mapped[str | None] = mapped_column(String(20))
    target_id: Mapped[UUID | None]
    marker: Mapped[str] = mapped_column(String(200), default="")


class KeptFile(Base):
    """The bytes of an imported file, by their hash, in pieces that are compressed where it helps."""

    __tablename__ = "kept_files"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime]


class KeptPiece(Base):
    """A piece of a kept file: zlib data where `compressed`."""

    __tablename__ = "kept_pieces"

    sha256: Mapped[str] = mapped_column(ForeignKey("kept_files.sha256", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    compressed: Mapped[bool]
    data: Mapped[bytes] = mapped_column(LargeBinary)


class PipelineProfile(EditedRow):
    """A set of pipelines. `settings_version` is the number of its newest version, counted from 1. One without an owner
    is everybody's. One in the trash is chosen nowhere, and leaves its name to others."""

    __tablename__ = "pipeline_profiles"
    __table_args__ = (
        Index("uq_pipeline_profiles_name", "owner_id", "name", unique=True, **only("trashed_at IS NULL")),
        Index("ix_pipeline_profiles_trashed", "trashed_at", **only("trashed_at IS NOT NULL")),
    )

    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(String(2000), default="")
    settings_version: Mapped[int] = mapped_column(default=1)
    trashed_at: Mapped[datetime | None]


class PipelineProfileVersion(Base):
    """A profile's content as it was saved; it never changes, so that a run can say what it has followed."""

    __tablename__ = "pipeline_profile_versions"

    profile_id: Mapped[UUID] = mapped_column(ForeignKey("pipeline_profiles.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class PipelineChoice(DatedRow):
    """The profile that is followed at a place: in a conversation, with a character, in a space, or in everything of a
    person's. Without a profile it says that none is, whatever wider places say."""

    __tablename__ = "pipeline_choices"
    __table_args__ = (one_place("conversation_id", "character_id", "space_id", "user_id"),)

    conversation_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), unique=True
    )
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"), unique=True)
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"), unique=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), unique=True)
    profile_id: Mapped[UUID | None] = mapped_column(ForeignKey("pipeline_profiles.id", ondelete="CASCADE"), index=True)


class PipelineRun(DatedRow):
    """One run of a profile's pipelines, around the reply of a run of the conversation or by itself.

    `message_id` and `swipe_id` are those that the reply has or is going to have; what the run writes belongs to them,
    and is on the path as soon as they are. `until_seq` is the last message that it knows. `attempt` counts how often it
    was begun or taken up; `report` is what became of it, once it has ended.
    """

    __tablename__ = "pipeline_runs"
    __table_args__ = (
        one_of('"trigger"', "user_message", "regenerate", "manual", "api"),
        one_of("status", "running", "done", "aborted", "error"),
        UniqueConstraint("conversation_id", "idempotency_key"),
        Index("ix_pipeline_runs_turns", "conversation_id", "turn"),
    )

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversation_runs.id", ondelete="CASCADE"), index=True)
    profile_id: Mapped[UUID | None] = mapped_column(ForeignKey("pipeline_profiles.id", ondelete="SET NULL"), index=True)
    profile_version: Mapped[int]
    trigger: Mapped[str] = mapped_column(String(20))
    idempotency_key: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(20), default="running")
    turn: Mapped[int] = mapped_column(default=0)
    message_id: Mapped[UUID | None]
    swipe_id: Mapped[UUID | None]
    until_seq: Mapped[int] = mapped_column(default=0)
    attempt: Mapped[int] = mapped_column(default=1)
    report: Mapped[dict[str, Any] | None]
    finished_at: Mapped[datetime | None]


class PipelineStepRun(Row):
    """What became of one step of a run; a run that is taken up again finds it and does not repeat the step.

    `output` is what it has made and from what, in full, and is there only until the run ends; `log` is what stays:
    which versions were read and written, with hashes and lengths instead of what was said.
    """

    __tablename__ = "pipeline_step_runs"
    __table_args__ = (
        one_of("status", "done", "skipped", "aborted", "error"),
        UniqueConstraint("pipeline_run_id", "hook", "pipeline", "step"),
    )

    pipeline_run_id: Mapped[UUID] = mapped_column(ForeignKey("pipeline_runs.id", ondelete="CASCADE"))
    hook: Mapped[str] = mapped_column(String(20))
    pipeline: Mapped[str] = mapped_column(String(200))
    step: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    status: Mapped[str] = mapped_column(String(20))
    output: Mapped[dict[str, Any] | None]
    log: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[dict[str, Any] | None]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime]


class ArtifactHead(Base):
    """One artifact of a conversation: its definition, the pipeline that owns it, and its latest version, if it has one.

    `max_versions` is what the definition says about retention, where statements can read it.
    """

    __tablename__ = "artifacts"

    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(64), primary_key=True)
    owner: Mapped[str] = mapped_column(String(200))
    definition: Mapped[dict[str, Any]]
    max_versions: Mapped[int | None]
    latest_version: Mapped[int | None]


class ArtifactArchive(Base):
    """A prune: when, why, and by which step. The versions that it took out of use name it; none is ever deleted."""

    __tablename__ = "artifact_archives"
    __table_args__ = (
        ForeignKeyConstraint(
            ["conversation_id", "tag"], ["artifacts.conversation_id", "artifacts.tag"], ondelete="CASCADE"
        ),
        one_of("reason", "window", "turns", "ttl", "reset"),
    )

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    tag: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(String(20))
    run_id: Mapped[UUID | None]
    step_run_id: Mapped[UUID | None]
    pruned_at: Mapped[datetime]


class ArtifactVersion(Base):
    """A value that an artifact has or had. It belongs to the swipe of the message that made it, so that it is
    read only where that swipe is on the path; one that belongs to none is always read."""

    __tablename__ = "artifact_versions"
    __table_args__ = (
        ForeignKeyConstraint(
            ["conversation_id", "tag"], ["artifacts.conversation_id", "artifacts.tag"], ondelete="CASCADE"
        ),
        ForeignKeyConstraint(
            ["conversation_id", "archive_id"],
            ["artifact_archives.conversation_id", "artifact_archives.id"],
            name="fk_artifact_versions_archive_id",
        ),
        one_of("content_type", "text", "json", "markdown"),
        Index("ix_artifact_versions_kept", "conversation_id", "tag", "version", **only("archive_id IS NULL")),
        Index("ix_artifact_versions_archived", "conversation_id", "archive_id"),
    )

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    tag: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[Any] = mapped_column(JsonText(), nullable=True)
    content_type: Mapped[str] = mapped_column(String(20))
    based_on_version: Mapped[int | None]
    turn: Mapped[int] = mapped_column(default=0)
    message_id: Mapped[UUID | None]
    swipe_id: Mapped[UUID | None]
    pipeline: Mapped[str | None] = mapped_column(String(200))
    step: Mapped[str] = mapped_column(String(200), default="")
    archive_id: Mapped[UUID | None]
    created_at: Mapped[datetime]


class SearchDocument(Base):
    """Something that can be found, and the tokens of its words; exactly one of the ids is there.

    `title` and `body` are what it says; those of a message are in its text, which branches share. `tokens` are what the
    index has: on PostgreSQL with the part of the index before each; on SQLite the table `search_index` is filled from
    them by triggers. What it is about takes it along when it is deleted.
    """

    __tablename__ = "search_documents"
    __table_args__ = (
        one_place(
            *("text_id", "space_id", "conversation_id", "character_id", "lorebook_id"),
            *("lorebook_entry_id", "preset_id", "persona_id"),
        ),
        Index("ix_search_documents_tokens", "tokens", postgresql_using="gin").ddl_if(dialect="postgresql"),
        Index("ix_search_documents_scope", "scope", "id").ddl_if(dialect="postgresql"),
        *(
            Index(f"uq_search_documents_{name}", name, unique=True, **only(f"{name} IS NOT NULL"))
            for name in (
                *("text_id", "space_id", "conversation_id", "character_id", "lorebook_id"),
                *("lorebook_entry_id", "preset_id", "persona_id"),
            )
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    text_id: Mapped[UUID | None] = mapped_column(ForeignKey("text_contents.id", ondelete="CASCADE"))
    space_id: Mapped[UUID | None] = mapped_column(ForeignKey("spaces.id", ondelete="CASCADE"))
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    character_id: Mapped[UUID | None] = mapped_column(ForeignKey("characters.id", ondelete="CASCADE"))
    lorebook_id: Mapped[UUID | None] = mapped_column(ForeignKey("lorebooks.id", ondelete="CASCADE"))
    lorebook_entry_id: Mapped[UUID | None] = mapped_column(ForeignKey("lorebook_entries.id", ondelete="CASCADE"))
    preset_id: Mapped[UUID | None] = mapped_column(ForeignKey("presets.id", ondelete="CASCADE"))
    persona_id: Mapped[UUID | None] = mapped_column(ForeignKey("personas.id", ondelete="CASCADE"))
    scope: Mapped[str] = mapped_column(String(10))
    title: Mapped[str | None] = mapped_column(Text)
    body: Mapped[str | None] = mapped_column(Text)
    tokens: Mapped[str] = mapped_column(Text().with_variant(TSVECTOR(), "postgresql"))


TABLES: Mapping[str, Table] = Base.metadata.tables
"""All tables by name."""
