"""The pictures that a card brings along: adding, renaming and removing them, and choosing the main one.

Each of them is a file and a reference of the card; both change in one transaction, and the card before is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters import AssetReference, CharacterCard
from tavernkit.characters.character import plain_uri
from tavernkit.characters.ingest.charx import main_icon
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.pictures import PictureError
from tavernkit.playground.base.blobs.store import NewBlob, remove_unused, store
from tavernkit.playground.base.database.models import Blob, Character, CharacterAsset
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.characters.cards import revise, stored_card
from tavernkit.playground.story.characters.documents import AssetKind
from tavernkit.playground.story.characters.files import MAX_ASSETS_BYTES, read_asset, without_repeat
from tavernkit.playground.story.characters.queries import assets_of, find_character
from tavernkit.playground.story.characters.service import character_to_change, set_avatar
from tavernkit.values import Value

KINDS: dict[AssetKind, str] = {
    "emotion": _("Emotion"),
    "background": _("Background"),
    "icon": _("Icon"),
    "user_icon": _("Icon of the user"),
    "other": _("Other"),
}
MAX_PICTURES = 5_000
MAX_UPLOADED = 200
THE_PICTURE = "ccdefault:"


class NewPicture(Value, frozen=True, kw_only=True):
    """A file that somebody uploads; what it is called without its ending is its name."""

    filename: str
    data: bytes


async def add_pictures(
    runtime: Runtime,
    viewer: Viewer,
    character_id: UUID,
    pictures: Sequence[NewPicture],
    *,
    kind: str,
    version: int | None = None,
) -> Character:
    """Give a character further pictures of a kind. One that cannot be read is refused, with all of them."""
    read = [await asyncio.to_thread(_read, picture) for picture in pictures]
    now = runtime.clock()
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, version)
        card = stored_card(row)
        there = await assets_of(session, row.id)
        if len(there) + len(read) > MAX_PICTURES:
            raise Refused("invalid", _("A character can have at most {limit} pictures.", limit=MAX_PICTURES))
        await _check_room(session, row.id, sum(len(blob.data) for blob, _ext in read))
        await store(session, [blob for blob, _ext in read], now)
        references = list(card.character.assets or ())
        if kind == "icon" and not any(_is_main(reference) for reference in references):
            # Without it, the first icon would be taken for the main picture.
            references.insert(0, AssetReference())
        taken = {(asset.kind, asset.name) for asset in there} | {(one.type, one.name) for one in references}
        places = {plain_uri(asset.uri) for asset in there} | {plain_uri(one.uri) for one in references}
        for picture, (blob, ext) in zip(pictures, read, strict=True):
            name = without_repeat(titled(PurePosixPath(picture.filename).stem, "unnamed", limit=180), kind, taken)
            uri = _free(f"embeded://assets/{kind}/{_plain(name)}", ext, places)
            taken.add((kind, name))
            places.add(uri)
            references.append(AssetReference(type=kind, uri=uri, name=name, ext=ext))
            session.add(
                CharacterAsset(
                    id=runtime.ids(), character_id=row.id, kind=kind, name=name, ext=ext, uri=uri, sha256=blob.sha256
                )
            )
        await _refer(session, runtime, row, card, references)
        return row


async def change_asset(
    runtime: Runtime,
    viewer: Viewer,
    character_id: UUID,
    asset_id: UUID,
    *,
    name: str | None,
    kind: str | None,
    version: int | None = None,
) -> Character:
    """Call a picture something else, or make it one of another kind."""
    async with runtime.database.write() as session:
        row, asset, card = await _found(session, viewer, character_id, asset_id, version)
        kind, name = kind or asset.kind, titled(asset.name if name is None else name, "", limit=180)
        if not name:
            raise Refused("blank", _("Enter a name for the picture."))
        if (kind, name) == (asset.kind, asset.name):
            return row
        references = list(card.character.assets or ())
        place = _place_of(asset, references)
        others = [reference for reference in references if reference is not place]
        files = [file for file in await assets_of(session, row.id) if file.id != asset.id]
        taken = {(file.kind, file.name) for file in files} | {(one.type, one.name) for one in others}
        if (kind, name) in taken:
            raise Refused("conflict", _("Another picture of this kind is called “{name}”.", name=name))
        asset.kind, asset.name = kind, name
        made = (place or AssetReference(uri=asset.uri, ext=asset.ext)).with_(type=kind, name=name)
        if place is None:
            references.append(made)
        else:
            references[references.index(place)] = made
        await _refer(session, runtime, row, card, references)
        return row


async def delete_asset(
    runtime: Runtime, viewer: Viewer, character_id: UUID, asset_id: UUID, *, version: int | None = None
) -> Character:
    """Take a picture away, and out of the card."""
    async with runtime.database.write() as session:
        row, asset, card = await _found(session, viewer, character_id, asset_id, version)
        references = card.character.assets or ()
        place, icon = _place_of(asset, references), main_icon(references)
        # The main icon is the character's picture as well, which stays.
        kept = [
            reference.with_(uri=THE_PICTURE) if reference is icon and place is icon else reference
            for reference in references
            if reference is not place or place is icon
        ]
        await session.delete(asset)
        await _refer(session, runtime, row, card, kept)
        await remove_unused(session, [asset.sha256])
        return row


async def use_as_picture(
    runtime: Runtime, viewer: Viewer, character_id: UUID, asset_id: UUID, *, version: int | None = None
) -> Character:
    """Make one of the pictures the main one; it also stays what it is."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        data = await session.scalar(
            select(Blob.data)
            .join(CharacterAsset, CharacterAsset.sha256 == Blob.sha256)
            .where(CharacterAsset.id == asset_id, CharacterAsset.character_id == row.id)
        )
    return await set_avatar(runtime, viewer, character_id, existing(data, _("picture")), version=version)


def _read(picture: NewPicture) -> tuple[NewBlob, str]:
    try:
        return read_asset(picture.data)
    except PictureError as error:
        sentence = _("{file}: {reason}", file=titled(picture.filename, "?"), reason=sentence_of(error))
        raise Refused("invalid", sentence) from None


async def _check_room(session: AsyncSession, character_id: UUID, added: int) -> None:
    sizes = await session.scalars(
        select(Blob.size)
        .join(CharacterAsset, CharacterAsset.sha256 == Blob.sha256)
        .where(CharacterAsset.character_id == character_id)
    )
    if sum(sizes) + added > MAX_ASSETS_BYTES:
        sentence = _("The pictures of a character can take at most {limit} bytes in all.", limit=MAX_ASSETS_BYTES)
        raise Refused("invalid", sentence)


async def _found(
    session: AsyncSession, viewer: Viewer, character_id: UUID, asset_id: UUID, version: int | None
) -> tuple[Character, CharacterAsset, CharacterCard]:
    row = await character_to_change(session, viewer, character_id, version)
    query = select(CharacterAsset).where(CharacterAsset.id == asset_id, CharacterAsset.character_id == row.id)
    return row, existing(await session.scalar(query), _("picture")), stored_card(row)


async def _refer(
    session: AsyncSession, runtime: Runtime, row: Character, card: CharacterCard, references: Sequence[AssetReference]
) -> None:
    edited = card.with_(character=card.character.with_(assets=tuple(references)))
    await revise(session, runtime, row, edited, "picture", runtime.clock())


def _place_of(asset: CharacterAsset, references: Sequence[AssetReference]) -> AssetReference | None:
    uri = plain_uri(asset.uri)
    return next((reference for reference in references if plain_uri(reference.uri) == uri), None)


def _is_main(reference: AssetReference) -> bool:
    return reference.type.lower() == "icon" and reference.name.lower() == "main"


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_ " else "_" for letter in name)


def _free(start: str, ext: str, taken: set[str]) -> str:
    uri, number = f"{start}.{ext}", 1
    while uri in taken:
        number += 1
        uri = f"{start}_{number}.{ext}"
    return uri
