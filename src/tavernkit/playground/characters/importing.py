"""Bringing characters in: new ones, those that are here already, and newer cards of those that are here."""

from __future__ import annotations

import asyncio
from typing import Literal
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.errors import TavernKitError
from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.blobs.store import remove_unused, store
from tavernkit.playground.characters.cards import UNNAMED, Change, changes_between, fill, stored_card
from tavernkit.playground.characters.files import PreparedFile, prepare
from tavernkit.playground.characters.folding import fold
from tavernkit.playground.characters.queries import assets_of, find_character
from tavernkit.playground.characters.versions import revise
from tavernkit.playground.database.models import Character, CharacterAsset, CharacterVersion, User
from tavernkit.playground.outcome import Refused
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.storable import storable, titled
from tavernkit.values import Value

__all__ = ["ImportedCharacter", "import_character", "import_file", "store_file"]

LIKELY = 20


class ImportedCharacter(Value, frozen=True, kw_only=True):
    """What became of a card file. `changes` are those of an update; `notes` say what could not be taken as it was."""

    outcome: Literal["imported", "same", "updated"]
    character: Character
    sentence: str
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


async def import_character(runtime: Runtime, owner: User, file: bytes) -> Character:
    """Store a card file's character; a file that is there already gives the one that it made.

    Raises the library's errors for a file that is no card.
    """
    prepared = await asyncio.to_thread(prepare, file)
    async with runtime.database.write() as session:
        stored = await store_file(session, runtime, owner.id, prepared)
        return stored.character


async def import_file(
    runtime: Runtime, viewer: Viewer, file: bytes, *, character_id: UUID | None = None, as_new: bool = False
) -> ImportedCharacter | Refused:
    """Store a card file: as a newer card of the character that is named, as a new one, or as whichever it is."""
    try:
        prepared = await asyncio.to_thread(prepare, file)
    except TavernKitError as error:
        return Refused(code="invalid", sentence=storable(str(error)))
    async with runtime.database.write() as session:
        target = None
        if character_id is not None:
            found = await find_character(session, character_id, viewer, to_change=True)
            if isinstance(found, Refused):
                return found
            target = found
        return await store_file(session, runtime, viewer.user_id, prepared, target=target, as_new=as_new)


async def store_file(
    session: AsyncSession,
    runtime: Runtime,
    owner_id: UUID,
    prepared: PreparedFile,
    *,
    target: Character | None = None,
    as_new: bool = False,
) -> ImportedCharacter:
    """Put a file into this transaction. One person's files are stored one after the other, so that none is doubled."""
    await session.execute(select(User.id).where(User.id == owner_id).with_for_update(key_share=True))
    if target is None and not as_new:
        known = await _made_by(session, owner_id, prepared)
        if known is not None:
            return known
        target = await _same_character(session, owner_id, prepared)
    if target is None:
        return await _add(session, runtime, owner_id, prepared)
    return await _update(session, runtime, target, prepared)


async def _made_by(session: AsyncSession, owner_id: UUID, prepared: PreparedFile) -> ImportedCharacter | None:
    """The character that this very file made, or made an earlier version of."""
    own = (Character.owner_id == owner_id, Character.status == "ready")
    row: Character | None = await session.scalar(
        select(Character).where(*own, Character.file_sha256 == prepared.sha256).limit(1)
    )
    if row is not None:
        return ImportedCharacter(outcome="same", character=row, sentence=f"This file is here already, as {row.name}.")
    earlier = (
        await session.execute(
            select(Character, CharacterVersion.number)
            .join(CharacterVersion, CharacterVersion.character_id == Character.id)
            .where(*own, CharacterVersion.file_sha256 == prepared.sha256)
            .limit(1)
        )
    ).one_or_none()
    if earlier is None:
        return None
    row, number = earlier
    return ImportedCharacter(
        outcome="same", character=row, sentence=f"This file is version {number} of {row.name}, which is newer by now."
    )


async def _same_character(session: AsyncSession, owner_id: UUID, prepared: PreparedFile) -> Character | None:
    """The character that this file is another card of: the same name by the same creator.

    Where nobody is named as creator, something of what the card says must be the same, too: many share a name.
    """
    card = prepared.card.character
    likely = await session.scalars(
        select(Character)
        .where(
            Character.owner_id == owner_id,
            Character.status == "ready",
            Character.name_key == fold(titled(card.name, UNNAMED))[:200],
        )
        # A copy comes after what it was made from.
        .order_by(Character.file_sha256.is_(None), Character.updated_at.desc(), Character.id)
        .limit(LIKELY)
        .with_for_update()
    )
    for row in likely:
        known = stored_card(row).character
        alike = bool(card.creator) or card.description == known.description or card.first_mes == known.first_mes
        if card.name == known.name and card.creator == known.creator and alike:
            return row
    return None


async def _add(session: AsyncSession, runtime: Runtime, owner_id: UUID, prepared: PreparedFile) -> ImportedCharacter:
    now = runtime.clock()
    row = Character(
        id=runtime.ids(),
        owner_id=owner_id,
        status="ready",
        spec_version=int(prepared.card.spec[1]),
        file_sha256=prepared.sha256,
        version=1,
        created_at=now,
        updated_at=now,
    )
    fill(row, prepared.card)
    await store(session, prepared.blobs, now)
    session.add(row)
    await session.flush()
    await _replace_files(session, runtime, row, prepared)
    return ImportedCharacter(
        outcome="imported", character=row, sentence=f"{row.name} was imported.", notes=prepared.notes
    )


async def _update(session: AsyncSession, runtime: Runtime, row: Character, prepared: PreparedFile) -> ImportedCharacter:
    now = runtime.clock()
    changes = (
        *changes_between(row.data, characters.write_card(prepared.card)),
        *await _changed_files(session, row, prepared),
    )
    if not changes:
        return ImportedCharacter(
            outcome="same", character=row, sentence=f"The file says what {row.name} says already.", notes=prepared.notes
        )
    await store(session, prepared.blobs, now)
    await revise(session, runtime, row, prepared.card, "imported", now)
    row.file_sha256, row.spec_version = prepared.sha256, int(prepared.card.spec[1])
    await _replace_files(session, runtime, row, prepared)
    return ImportedCharacter(
        outcome="updated",
        character=row,
        sentence=f"{row.name} was here already and is now version {row.version}. The card before is kept.",
        changes=changes,
        notes=prepared.notes,
    )


async def _changed_files(session: AsyncSession, row: Character, prepared: PreparedFile) -> list[Change]:
    changes: list[Change] = []
    if prepared.picture is not None and prepared.picture.png.sha256 != row.avatar_sha256:
        changes.append(Change(field="picture", before=row.avatar_sha256, after=prepared.picture.png.sha256))
    if prepared.assets:
        before = {asset.uri: asset.sha256 for asset in await assets_of(session, row.id)}
        after = {asset.uri: asset.blob.sha256 for asset in prepared.assets}
        if before != after:
            changes.append(Change(field="files", before=f"{len(before)} files", after=f"{len(after)} files"))
    return changes


async def _replace_files(session: AsyncSession, runtime: Runtime, row: Character, prepared: PreparedFile) -> None:
    """Take the file's pictures and assets. A file without any, such as plain JSON, leaves those that are there."""
    unused: list[str | None] = []
    if prepared.picture is not None:
        unused += [row.avatar_sha256, row.thumbnail_sha256]
        row.avatar_sha256, row.thumbnail_sha256 = prepared.picture.png.sha256, prepared.picture.thumbnail.sha256
    if prepared.assets:
        removed = await session.scalars(
            delete(CharacterAsset).where(CharacterAsset.character_id == row.id).returning(CharacterAsset.sha256)
        )
        unused += removed.all()
        session.add_all(
            CharacterAsset(
                id=runtime.ids(),
                character_id=row.id,
                kind=asset.kind,
                name=asset.name,
                ext=asset.ext,
                uri=asset.uri,
                sha256=asset.blob.sha256,
            )
            for asset in prepared.assets
        )
    if any(unused):
        await remove_unused(session, unused)
