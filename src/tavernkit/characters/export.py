"""Card files out: JSON, PNG and CHARX. The same card and picture always give the same bytes."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping

from tavernkit.characters.character import Asset, AssetReference, CharacterCard, WritableSpec
from tavernkit.characters.encode import write_card
from tavernkit.characters.ingest.charx import CARD_FILE, embedded_path, main_icon
from tavernkit.characters.ingest.png import ASSET_KEYWORD, CARD_KEYWORDS
from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_assets import name_assets
from tavernkit.characters.png_chunks import PNG_SIGNATURE, Chunk, make_chunk, put_texts, walk_chunks
from tavernkit.errors import InvalidCardError, PngParseError
from tavernkit.text.invisible import without_invisible
from tavernkit.text.js_strings import well_formed

PLAIN_SIZE = (256, 384)
PLAIN_COLOUR = bytes((104, 112, 128))


def to_json(card: CharacterCard, spec: WritableSpec = "v3", *, indent: int | None = 2) -> str:
    """Write a card as JSON text that any JSON reader takes, and that can always be encoded as UTF-8."""
    value = write_card(card, spec)
    separators = (",", ":") if indent is None else None
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
        if well_formed(text) is text:
            return text
        # Half a surrogate pair can stand in JSON only as an escape.
        return json.dumps(value, allow_nan=False, indent=indent, separators=separators)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidCardError(f"The card contains something that JSON cannot express: {error}.") from None


def to_png(card: CharacterCard, image: bytes | None = None, assets: Iterable[Asset] = ()) -> bytes:
    """Put a card into a PNG or APNG picture, as version 2 (`chara`) and as version 3 (`ccv3`), and assets beside it.

    Cards that the picture already carries are taken out, and its assets where others are given; every other chunk is
    kept byte for byte. References into an archive (`embeded://`) become references into the PNG (`__asset:`). Without
    a picture, a plain one is made.
    """
    named, files = name_assets(card, assets)
    texts = {**files, "chara": _card_text(named, "v2"), "ccv3": _card_text(named, "v3")}

    taken_out = (*CARD_KEYWORDS, ASSET_KEYWORD) if files else CARD_KEYWORDS
    picture = plain_picture() if image is None else image
    return put_texts(picture, texts, drop=lambda chunk: _is_named(chunk, taken_out))


def to_charx(card: CharacterCard, image: bytes | None = None, assets: Iterable[Asset] = ()) -> bytes:
    """Write a CHARX archive: the card as version 3, the picture as its main icon, and the assets beside it.

    References to assets of a PNG (`__asset:`) become references into the archive.
    """
    moved, files = _lay_out(card, image, assets)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        card_json = to_json(moved).encode()
        archive.writestr(_entry(CARD_FILE), card_json, zipfile.ZIP_DEFLATED, compresslevel=9)
        for name, data in files.items():
            archive.writestr(_entry(name), data)
    return buffer.getvalue()


def _card_text(card: CharacterCard, spec: WritableSpec) -> bytes:
    return base64.b64encode(to_json(card, spec, indent=None).encode())


def plain_picture() -> bytes:
    """What stands for a picture where there is none."""
    width, height = PLAIN_SIZE
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + PLAIN_COLOUR * width) * height
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(make_chunk(chunk_type, data) for chunk_type, data in chunks)


PNG_ASSET = "__asset:"
LONGEST_NAME = 200
EXTENSIONS = {b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp"}


def _lay_out(
    card: CharacterCard, image: bytes | None, assets: Iterable[Asset]
) -> tuple[CharacterCard, dict[str, bytes]]:
    """Give every asset a safe place, make the picture the main icon, and let the card point to both."""
    references = card.character.assets
    places: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for asset in assets:
        old = embedded_path(asset.uri) or asset.name
        place = _free(_place(asset, old, references or ()), files)
        places.setdefault(old, place)
        files[place] = asset.read()
    if references is not None:
        references = tuple(_moved(reference, places) for reference in references)
    if image is not None:
        references, place = _with_icon(references or (), _extension(image), files)
        files[place] = _without_card(image)
    return card.with_(character=card.character.with_(assets=references)), files


def _place(asset: Asset, old: str, references: tuple[AssetReference, ...]) -> str:
    if not asset.uri.startswith(PNG_ASSET):
        return _safe(old)
    reference = next((reference for reference in references if embedded_path(reference.uri) == old), None)
    if reference is None:
        return _safe(old)
    return _safe(f"assets/{reference.type or 'other'}/{old}.{reference.ext or 'bin'}")


def _moved(reference: AssetReference, places: Mapping[str, str]) -> AssetReference:
    old = embedded_path(reference.uri)
    if old is None or old not in places or (places[old] == old and not reference.uri.startswith(PNG_ASSET)):
        return reference
    return reference.with_(uri=f"embeded://{places[old]}")


def _with_icon(
    references: tuple[AssetReference, ...], extension: str, files: Mapping[str, bytes]
) -> tuple[tuple[AssetReference, ...], str]:
    icon = main_icon(references)
    path = embedded_path(icon.uri) if icon else None
    if path is not None and path != CARD_FILE and (path in files or path == _safe(path)):
        return references, path
    place = _free(f"assets/icon/main.{extension}", files)
    added = AssetReference(type="icon", uri=f"embeded://{place}", name="main", ext=extension)
    standing_in = next((asset for asset in references if asset.type == "icon" and asset.uri == "ccdefault:"), None)
    if standing_in is None:
        return (*references, added), place
    changed = standing_in.with_(uri=added.uri, ext=extension)
    return tuple(changed if asset is standing_in else asset for asset in references), place


def _safe(path: str) -> str:
    """A relative path of plain names, whatever it was before."""
    path = without_invisible(re.sub(r'[\x00-\x1f<>:"|?*\\\ud800-\udfff]', "_", path))
    parts = [part[-LONGEST_NAME:] for part in path.split("/")]
    kept = [part for part in parts if part.strip(". ")]
    return "/".join(kept)[-LONGEST_NAME * 4 :].lstrip("/") or "unnamed"


def _free(place: str, files: Mapping[str, bytes]) -> str:
    while place in files or place == CARD_FILE:
        place = f"_{place}"
    return place


def _extension(image: bytes) -> str:
    return next((extension for start, extension in EXTENSIONS.items() if image.startswith(start)), "png")


def _without_card(image: bytes) -> bytes:
    """The picture alone: a card that it carries would be a second, older copy."""
    if not image.startswith(PNG_SIGNATURE):
        return image
    png = memoryview(image)
    try:
        chunks = list(walk_chunks(png, limit=DEFAULT_LIMITS.png_chunks))
    except PngParseError:
        return image
    kept = [png[chunk.start : chunk.end] for chunk in chunks if not _is_named(chunk, (*CARD_KEYWORDS, ASSET_KEYWORD))]
    return image if len(kept) == len(chunks) else b"".join([PNG_SIGNATURE, *kept])


def _is_named(chunk: Chunk, keywords: tuple[str, ...]) -> bool:
    """Whether a chunk has one of the keywords, or a name that begins with that of assets."""
    keyword = (chunk.keyword or "").lower()
    return keyword in keywords or (ASSET_KEYWORD in keywords and keyword.startswith(ASSET_KEYWORD))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry
