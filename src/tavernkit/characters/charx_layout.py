"""Where everything goes in a CHARX archive, and what the card must say about it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping

from tavernkit.characters.bundle import Asset
from tavernkit.characters.character import AssetReference, CharacterCard
from tavernkit.characters.ingest.charx import CARD_FILE, embedded_path, main_icon
from tavernkit.characters.ingest.png import ASSET_KEYWORD, CARD_KEYWORDS
from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_chunks import PNG_SIGNATURE, walk_chunks
from tavernkit.errors import PngParseError
from tavernkit.text.invisible import without_invisible
from tavernkit.values import Value

PNG_ASSET = "__asset:"
LONGEST_NAME = 200
EXTENSIONS = {b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp"}


class Layout(Value, frozen=True, kw_only=True):
    """A card whose references fit the files beside it."""

    card: CharacterCard
    files: Mapping[str, bytes]

    def to_zip(self, card_json: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(_entry(CARD_FILE), card_json, zipfile.ZIP_DEFLATED, compresslevel=9)
            for name, data in self.files.items():
                archive.writestr(_entry(name), data)
        return buffer.getvalue()


def lay_out(card: CharacterCard, image: bytes | None, assets: Iterable[Asset]) -> Layout:
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
    return Layout(card=card.with_(character=card.character.with_(assets=references)), files=files)


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
    kept = [png[chunk.start : chunk.end] for chunk in chunks if not _belongs_to_card(chunk.keyword or "")]
    return image if len(kept) == len(chunks) else b"".join([PNG_SIGNATURE, *kept])


def _belongs_to_card(keyword: str) -> bool:
    return keyword.lower() in CARD_KEYWORDS or keyword.lower().startswith(ASSET_KEYWORD)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry
