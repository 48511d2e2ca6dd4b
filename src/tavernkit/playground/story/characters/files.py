"""Card files: made ready to be stored before a transaction begins, and written as the library writes them.

Of a stranger's picture only what it shows is kept, as bytes of our own making, without anything else that was in it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.characters import Asset, AssetReference, Bundle, CharacterCard
from tavernkit.characters.ingest.byaf import CHATS as BYAF_CHATS
from tavernkit.characters.ingest.charx import embedded_path, main_icon
from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_assets import assets_for_png
from tavernkit.characters.png_chunks import PNG_SIGNATURE, walk_chunks
from tavernkit.chats import read_chat
from tavernkit.errors import ParseError, PngParseError, TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.pictures import PictureError, bare_copy, opened, saved, upright
from tavernkit.playground.base.blobs.store import MAX_BLOB_BYTES, NewBlob
from tavernkit.playground.base.database.models import Blob, Character, CharacterAsset
from tavernkit.playground.base.languages import Sentence, ngettext, sentence_of
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.characters.queries import assets_of, find_character
from tavernkit.playground.story.chatfiles.importing import PreparedChats, prepare_chats
from tavernkit.risuai.files import MODULE_FILE, module_of, with_module
from tavernkit.values import Value

THUMBNAIL_SIZE = (400, 600)
LARGEST_SIZE = (2048, 3072)
SHOWN_CHUNKS = frozenset(
    (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"bKGD", b"pHYs",
     b"acTL", b"fcTL", b"fdAT")
)  # fmt: skip
"""What a PNG needs to be shown. Texts, dates and EXIF are none of it."""


class Picture(Value, frozen=True, kw_only=True):
    """A picture as PNG, and a small one as WebP."""

    png: NewBlob
    thumbnail: NewBlob


def reason_of(error: TavernKitError) -> str:
    """What an error says, without what cannot be stored of a file that it quotes."""
    said = sentence_of(error)
    return said if isinstance(said, Sentence) else storable(said)


def read_picture(data: bytes) -> Picture:
    """Decode a picture. A PNG keeps its pixels and its animation; others are turned upright and become PNG.

    Raises PictureError.
    """
    with opened(data) as image:
        png = _shown_chunks(data) if image.format == "PNG" else None
        shown = image if png else upright(image)
        thumbnail = saved(bare_copy(shown, THUMBNAIL_SIZE), "WEBP", quality=82)
        if png is None or len(png) > MAX_BLOB_BYTES:
            png = saved(bare_copy(shown, LARGEST_SIZE), "PNG")
    return Picture(png=NewBlob.of(png), thumbnail=NewBlob.of(thumbnail))


def read_asset(data: bytes) -> tuple[NewBlob, str]:
    """A picture that is kept beside the main one, and its ending. Only a photograph is written anew: it may say where
    it was taken. Raises PictureError."""
    picture = read_picture(data)
    if data.startswith(b"GIF8"):
        return NewBlob.of(data), "gif"
    if data.startswith(b"RIFF"):
        return NewBlob.of(data), "webp"
    return picture.png, "png"


def _shown_chunks(data: bytes) -> bytes | None:
    """The PNG without what is not shown; None when it cannot be walked to its end."""
    png = memoryview(data)
    try:
        kept = [
            png[chunk.start : chunk.end]
            for chunk in walk_chunks(png, limit=DEFAULT_LIMITS.png_chunks)
            if chunk.type in SHOWN_CHUNKS
        ]
    except PngParseError:
        return None
    return b"".join([PNG_SIGNATURE, *kept])


SPRITES = "sprites/"
"""What the addresses of pictures begin with that lay in a folder beside the cards: no card refers to them."""
MAX_FILE_BYTES = characters.CardLimits().file_bytes
MAX_ASSETS_BYTES = 128 * 1024 * 1024
MAX_NOTES = 20
MAX_NOTE_CHARACTERS = 500


class PreparedAsset(Value, frozen=True, kw_only=True):
    """A file inside the card file; `uri` is how the card refers to it."""

    kind: str
    name: str
    ext: str
    uri: str
    blob: NewBlob


class PreparedFile(Value, frozen=True, kw_only=True):
    """What a card file holds. `notes` are sentences about what could not be taken as it was."""

    sha256: str
    card: CharacterCard
    picture: Picture | None
    assets: tuple[PreparedAsset, ...]
    notes: tuple[str, ...]
    chats: PreparedChats | None = None

    @property
    def blobs(self) -> tuple[NewBlob, ...]:
        pictures = () if self.picture is None else (self.picture.png, self.picture.thumbnail)
        return (*pictures, *(asset.blob for asset in self.assets))


def prepare(file: bytes, *, now: datetime | None = None) -> PreparedFile:
    """Read a card file of any format with its pictures and assets. Raises the library's errors for one that is no card.

    A picture or asset that cannot be read is left out, and a note says so. The chats of an archive are read if there is
    a `now`, which is the time of messages that have none.
    """
    bundle = characters.load(file)
    chats = None if now is None or bundle.format != "byaf" else _chats(file, now)
    return prepare_bundle(bundle, sha256=hashlib.sha256(file).hexdigest(), chats=chats)


def prepare_bundle(bundle: Bundle, *, sha256: str, chats: PreparedChats | None = None) -> PreparedFile:
    """The same for what is in a card file, or for what another application keeps elsewhere; `sha256` is of its file."""
    notes = [
        _note(f"{note.path}: {note.message}")
        for note in bundle.report.notes
        if note.outcome != "exact" and not (chats and note.path == BYAF_CHATS)
    ]
    picture = None
    if bundle.image is not None:
        try:
            picture = read_picture(bundle.image)
        except PictureError as error:
            notes.append(sentence_of(error))
    card = _with_module(bundle, notes)
    # What a module says is in the card now; beside a card that is changed later, it would be out of date.
    files = [file for file in bundle.assets if card is bundle.card or file.name != MODULE_FILE]
    assets = _assets(files, bundle.card.character.assets or (), notes)
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES - 1 :] = [ngettext("and {count} more", "and {count} more", len(notes) - MAX_NOTES + 1)]
    return PreparedFile(
        sha256=sha256,
        card=card,
        picture=picture,
        assets=assets,
        notes=tuple(notes),
        chats=chats,
    )


def _chats(file: bytes, now: datetime) -> PreparedChats | None:
    """The chats of a card file; None if it has none, or more than can be stored."""
    try:
        return prepare_chats(read_chat(file, now=lambda: now).value, file)
    except (ParseError, Refused):
        return None


def _note(text: str) -> str:
    return storable(text)[:MAX_NOTE_CHARACTERS]


def _with_module(bundle: Bundle, notes: list[str]) -> CharacterCard:
    """The card with the triggers and scripts that RisuAI puts into a module beside it."""
    try:
        module = module_of(bundle)
    except ParseError as error:
        notes.append(
            _("{file}: triggers and scripts were skipped. {reason}", file=MODULE_FILE, reason=_note(str(error)))
        )
        return bundle.card
    if module is None:
        return bundle.card
    return bundle.card.with_(character=with_module(bundle.card.character, module))


def _assets(
    files: Sequence[Asset], references: Sequence[AssetReference], notes: list[str]
) -> tuple[PreparedAsset, ...]:
    by_path: dict[str, AssetReference] = {}
    for reference in references:
        path = embedded_path(reference.uri)
        if path is not None:
            by_path.setdefault(path, reference)
    prepared: list[PreparedAsset] = []
    taken: set[tuple[str, str]] = set()
    size = 0
    for file in files:
        if storable(file.uri)[:2000] != file.uri:
            notes.append(_("{file}: skipped, because its name is too long or not valid.", file=_note(file.name)))
            continue
        try:
            data = file.read()
        except ParseError as error:
            notes.append(_("{file}: skipped. {reason}", file=_note(file.name), reason=_note(str(error))))
            continue
        if len(data) > MAX_BLOB_BYTES:
            notes.append(
                _(
                    "{file}: skipped, because it is larger than {limit} bytes.",
                    file=_note(file.name),
                    limit=MAX_BLOB_BYTES,
                )
            )
            continue
        size += len(data)
        if size > MAX_ASSETS_BYTES:
            raise ParseError(_("The files inside the card take more than {limit} bytes.", limit=MAX_ASSETS_BYTES))
        asset = _named(file, by_path.get(embedded_path(file.uri) or ""), data, taken)
        taken.add((asset.kind, asset.name))
        prepared.append(asset)
    return tuple(prepared)


def _named(file: Asset, reference: AssetReference | None, data: bytes, taken: set[tuple[str, str]]) -> PreparedAsset:
    path = PurePosixPath(file.name)
    kind = titled(reference.type if reference else "", "other", limit=50)
    name = titled(reference.name if reference else file.name, "unnamed", limit=180)
    ext = titled((reference.ext if reference else "") or path.suffix.lstrip("."), "", limit=20)
    unique = without_repeat(name, kind, taken)
    return PreparedAsset(kind=kind, name=unique, ext=ext, uri=file.uri, blob=NewBlob.of(data))


def without_repeat(name: str, kind: str, taken: Collection[tuple[str, str]]) -> str:
    """The name, with a number behind it if another file of the kind has it."""
    unique, number = name, 1
    while (kind, unique) in taken:
        number += 1
        unique = f"{name} ({number})"
    return unique


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
        data = await written_card(session, row, format)
    ending, media_type = KINDS[format]
    return ExportedFile(name=row.name, ending=ending, media_type=media_type, data=data)


async def written_card(session: AsyncSession, row: Character, format: ExportFormat) -> bytes:
    """The bytes of a card file."""
    files = await assets_of(session, row.id) if format in ("png", "charx") else []
    blobs = await _blobs(session, row, files) if format in ("png", "charx") else {}
    try:
        return await asyncio.to_thread(_written, row, format, files, blobs)
    except TavernKitError as error:
        raise Refused("invalid", _("The card cannot be exported: {reason}", reason=reason_of(error))) from None


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
