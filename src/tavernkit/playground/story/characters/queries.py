"""Reading characters: one's own, those that are everybody's, and those that others share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, exists, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    CharacterAsset,
    CharacterVersion,
    Message,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.story.access.access import is_others, is_usable, may_edit
from tavernkit.playground.story.access.blobs import visible_characters
from tavernkit.playground.story.characters.cards import all_tags, fold, searched_tags
from tavernkit.values import Value

Sort: TypeAlias = Literal["name", "recent", "created"]
Scope: TypeAlias = Literal["own", "shared"]
SEARCH_WORDS = 8
MOST_PICTURES = 2_000
"""More than any card that people have; a text calls a picture of a larger one in vain."""


class CharacterLine(Value, frozen=True, kw_only=True):
    """A character in a list, without its card."""

    id: UUID
    name: str
    nickname: str | None
    name_key: str
    tags: list[str]
    own_tags: list[str]
    spec_version: int
    version: int
    avatar_sha256: str | None
    thumbnail_sha256: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def all_tags(self) -> list[str]:
        return all_tags(self.tags, self.own_tags)


class VersionLine(Value, frozen=True, kw_only=True):
    """An earlier card in a list; `reason` is what replaced it."""

    number: int
    reason: str
    created_at: datetime


_COLUMNS = tuple(Character.__table__.c[name] for name in CharacterLine.__struct_fields__)


async def find_character(
    session: AsyncSession, character_id: UUID, viewer: Viewer, *, to_change: bool = False
) -> Character:
    """The character, if this person may see it; locked, if they may change it and want to."""
    query = select(Character).where(
        Character.id == character_id,
        Character.status == "ready",
        is_usable(Character, viewer.user_id),
    )
    found: Character | None = await session.scalar(query.with_for_update() if to_change else query)
    row = existing(found, _("character"))
    if to_change:
        check_changeable(row, viewer)
    return row


def check_changeable(row: Character, viewer: Viewer) -> None:
    """Refuse those who may see this character but not change it."""
    if not may_edit(row, viewer):
        raise Refused("forbidden", _("This character is shared. Duplicate it and edit the copy."))


def check_history(row: Character, viewer: Viewer) -> None:
    """Refuse the earlier cards to those whom only the present one is shared with."""
    if row.owner_id not in (None, viewer.user_id):
        raise Refused("forbidden", _("Only the owner of the character can see its earlier versions."))


async def characters_page(
    session: AsyncSession,
    viewer: Viewer,
    *,
    scope: Scope,
    sort: Sort,
    search: str,
    tag: str,
    after: tuple[str, UUID] | tuple[datetime, UUID] | None,
    limit: int,
) -> list[CharacterLine]:
    """A page of a list, in one statement that reads no cards."""
    query = select(*_COLUMNS).where(_in_scope(scope, viewer), Character.status == "ready", *found_by(search, tag))
    key: Any = {"name": Character.name_key, "recent": Character.updated_at, "created": Character.created_at}[sort]
    place = tuple_(key, Character.id)
    if after is not None:
        behind = tuple_(literal(after[0], key.type), literal(after[1], Uuid()))
        query = query.where(place > behind if sort == "name" else place < behind)
    order = (key, Character.id) if sort == "name" else (key.desc(), Character.id.desc())
    query = query.order_by(*order)
    rows = await session.execute(query.limit(limit))
    return [CharacterLine(**row) for row in rows.mappings()]


def _in_scope(scope: Scope, viewer: Viewer) -> ColumnElement[bool]:
    return Character.owner_id == viewer.user_id if scope == "own" else is_others(Character, viewer.user_id)


async def lines_of(session: AsyncSession, viewer: Viewer, ids: Collection[UUID]) -> dict[UUID, CharacterLine]:
    """Those of these characters that are the person's own and still there."""
    rows = await session.execute(
        select(*_COLUMNS).where(
            Character.id.in_(ids), Character.owner_id == viewer.user_id, Character.status == "ready"
        )
    )
    return {row["id"]: CharacterLine(**row) for row in rows.mappings()}


async def used_tags(session: AsyncSession, viewer: Viewer, *, scope: Scope, limit: int) -> list[str]:
    """The tags that most characters have, without upper case, in the order of the alphabet.

    Read from what is searched: it is short and lies before the card, which is then not read at all.
    """
    texts = await session.scalars(
        select(Character.search_text).where(_in_scope(scope, viewer), Character.status == "ready")
    )
    counts = Counter(tag for text in texts for tag in searched_tags(text))
    return sorted(tag for tag, count in counts.most_common(limit))


async def spaces_with(session: AsyncSession, character_id: UUID) -> list[tuple[UUID | None, str]]:
    """The owners and names of the spaces that the character is in."""
    rows = await session.execute(
        select(Space.owner_id, Space.name)
        .join(SpaceMembership, SpaceMembership.space_id == Space.id)
        .where(
            SpaceMembership.character_id == character_id,
            SpaceMembership.status == "active",
            Space.status != "deleting",
        )
        .order_by(Space.name, Space.id)
    )
    return [(owner_id, name) for owner_id, name in rows]


async def assets_of(session: AsyncSession, character_id: UUID) -> list[CharacterAsset]:
    """The character's files, without their bytes."""
    found = await session.scalars(
        select(CharacterAsset)
        .where(CharacterAsset.character_id == character_id)
        .order_by(CharacterAsset.kind, CharacterAsset.name)
    )
    return list(found)


async def assets_page(
    session: AsyncSession, character_id: UUID, *, after: tuple[str, UUID] | None, limit: int
) -> list[CharacterAsset]:
    """A page of the character's files by name, without their bytes."""
    place = tuple_(CharacterAsset.name, CharacterAsset.id)
    query = select(CharacterAsset).where(CharacterAsset.character_id == character_id)
    if after is not None:
        query = query.where(place > tuple_(literal(after[0]), literal(after[1], Uuid())))
    return list(await session.scalars(query.order_by(CharacterAsset.name, CharacterAsset.id).limit(limit)))


async def pictures_of(
    session: AsyncSession, character_ids: Collection[UUID]
) -> Mapping[UUID | None, Mapping[str, str]]:
    """By what name or address the texts of each character may call its pictures, and the SHA-256 of each."""
    rows = await session.execute(
        select(
            CharacterAsset.character_id,
            CharacterAsset.name,
            CharacterAsset.ext,
            CharacterAsset.uri,
            CharacterAsset.sha256,
        )
        .where(CharacterAsset.character_id.in_(character_ids))
        .order_by(CharacterAsset.id)
        .limit(MOST_PICTURES)
    )
    found: defaultdict[UUID | None, dict[str, str]] = defaultdict(dict)
    for character_id, name, ext, uri, sha256 in rows:
        for called in (name, f"{name}.{ext}", uri):
            if called:
                found[character_id].setdefault(called, sha256)
    return found


async def versions_of(
    session: AsyncSession, character_id: UUID, *, before: int | None, limit: int
) -> list[VersionLine]:
    """The earlier versions without their cards, newest first."""
    query = (
        select(CharacterVersion.number, CharacterVersion.reason, CharacterVersion.created_at)
        .where(CharacterVersion.character_id == character_id)
        .order_by(CharacterVersion.number.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(CharacterVersion.number < before)
    return [VersionLine(**row) for row in (await session.execute(query)).mappings()]


async def find_version(session: AsyncSession, character_id: UUID, number: int) -> CharacterVersion | None:
    """An earlier version of a character that the caller has found."""
    return await session.scalar(
        select(CharacterVersion).where(CharacterVersion.character_id == character_id, CharacterVersion.number == number)
    )


async def find_avatar(
    session: AsyncSession, character_id: UUID, viewer: Viewer, size: Literal["full", "thumbnail"]
) -> Blob:
    """The character's picture, also for those who share a space with it."""
    column = Character.avatar_sha256 if size == "full" else Character.thumbnail_sha256
    found: Blob | None = await session.scalar(
        select(Blob)
        .join(Character, column == Blob.sha256)
        .where(Character.id == character_id, Character.id.in_(visible_characters(viewer)))
    )
    return existing(found, _("picture"))


async def has_spoken(session: AsyncSession, character_id: UUID) -> bool:
    """True when there is a message of this character, hidden ones included."""
    spoken = exists().where(Message.membership_id == SpaceMembership.id)
    found = await session.scalar(
        select(SpaceMembership.id).where(SpaceMembership.character_id == character_id, spoken).limit(1)
    )
    return found is not None


def found_by(search: str, tag: str = "") -> list[ColumnElement[bool]]:
    """Characters whose name, creator or tags have every word of `search`, and that have the tag."""
    conditions = [Character.search_text.contains(word, autoescape=True) for word in fold(search).split()[:SEARCH_WORDS]]
    if tag.strip():
        conditions.append(Character.search_text.contains(f"\n#{fold(tag)}\n", autoescape=True))
    return conditions
