"""Characters out: JSON, PNG and CHARX, as the library writes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.characters import Asset, CharacterCard
from tavernkit.characters.ingest.charx import embedded_path, main_icon
from tavernkit.characters.png_assets import assets_for_png
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Blob, Character, CharacterAsset
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.characters.queries import assets_of, find_character
from tavernkit.values import Value

ExportFormat: TypeAlias = Literal["json", "json_v2", "png", "charx"]

KINDS: Mapping[ExportFormat, tuple[str, str]] = {
    "json": ("json", "application/json"),
    "json_v2": ("json", "application/json"),
    "png": ("png", "image/png"),
    "charx": ("charx", "application/zip"),
}


class ExportedFile(Value, frozen=True, kw_only=True):
    """A file to be saved."""

    name: str
    ending: str
    media_type: str
    data: bytes


async def export_character(runtime: Runtime, viewer: Viewer, character_id: UUID, format: ExportFormat) -> ExportedFile:
    """The character as a card file. PNG carries the picture and the files that the card refers to; CHARX all files."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        files = await assets_of(session, row.id) if format in ("png", "charx") else []
        blobs = await _blobs(session, row, files) if format in ("png", "charx") else {}
    ending, media_type = KINDS[format]
    try:
        data = await asyncio.to_thread(_written, row, format, files, blobs)
    except TavernKitError as error:
        raise Refused(code="invalid", sentence=storable(str(error))) from None
    return ExportedFile(name=row.name, ending=ending, media_type=media_type, data=data)


async def _blobs(session: AsyncSession, row: Character, files: Sequence[CharacterAsset]) -> dict[str, bytes]:
    names = {file.sha256 for file in files} | ({row.avatar_sha256} if row.avatar_sha256 else set())
    found = await session.execute(select(Blob.sha256, Blob.data).where(Blob.sha256.in_(names)))
    return dict(iter(found))


def _written(
    row: Character, format: ExportFormat, files: Sequence[CharacterAsset], blobs: Mapping[str, bytes]
) -> bytes:
    card = stored_card(row)
    avatar = blobs.get(row.avatar_sha256) if row.avatar_sha256 else None
    assets = [_asset(file, blobs[file.sha256]) for file in files]
    match format:
        case "json":
            return characters.to_json(card, "v3").encode()
        case "json_v2":
            return characters.to_json(card, "v2").encode()
        case "png":
            return characters.to_png(card, avatar, assets_for_png(card, assets, with_icon=avatar is None))
        case "charx":
            return characters.to_charx(card, None if _has_icon(card, files) else avatar, assets)


def _asset(file: CharacterAsset, data: bytes) -> Asset:
    path = embedded_path(file.uri)
    return Asset(name=path or file.name, uri=file.uri, load=lambda: data)


def _has_icon(card: CharacterCard, files: Sequence[CharacterAsset]) -> bool:
    """True when the card's own icon is among its files: it is the picture, as it came."""
    icon = main_icon(card.character.assets or ())
    return icon is not None and any(embedded_path(file.uri) == embedded_path(icon.uri) for file in files)
