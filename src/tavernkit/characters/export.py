"""Card files out: JSON, PNG and CHARX. The same card and picture always give the same bytes."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable

from tavernkit.characters.bundle import Asset
from tavernkit.characters.card import CharacterCard, WritableSpec
from tavernkit.characters.charx_layout import lay_out
from tavernkit.characters.encode import write_card
from tavernkit.characters.ingest.png import CARD_KEYWORDS
from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_chunks import PNG_SIGNATURE, Chunk, make_chunk, walk_chunks
from tavernkit.errors import InvalidCardError, PngParseError, PngWriteError
from tavernkit.values import Json

__all__ = ["to_charx", "to_json", "to_png"]

PLAIN_SIZE = (256, 384)
PLAIN_COLOUR = bytes((104, 112, 128))


def to_json(card: CharacterCard, spec: WritableSpec = "v3", *, indent: int | None = 2) -> str:
    """Write a card as JSON text that any JSON reader takes, and that can always be encoded as UTF-8."""
    return _dump(write_card(card, spec), indent)


def to_png(card: CharacterCard, image: bytes | None = None) -> bytes:
    """Put a card into a PNG or APNG picture, as version 2 (`chara`) and as version 3 (`ccv3`).

    Cards that the picture already carries are taken out; every other chunk is kept byte for byte. Without a picture, a
    plain one is made.
    """
    png = memoryview(_plain_picture() if image is None else image)
    parts: list[bytes | memoryview] = [PNG_SIGNATURE]
    for chunk in _picture_chunks(png):
        if chunk.type == b"IEND":
            parts += [_card_chunk("chara", card, "v2"), _card_chunk("ccv3", card, "v3")]
        if (chunk.keyword or "").lower() not in CARD_KEYWORDS:
            parts.append(png[chunk.start : chunk.end])
    return b"".join(parts)


def to_charx(card: CharacterCard, image: bytes | None = None, assets: Iterable[Asset] = ()) -> bytes:
    """Write a CHARX archive: the card as version 3, the picture as its main icon, and the assets beside it.

    References to assets of a PNG (`__asset:`) become references into the archive.
    """
    layout = lay_out(card, image, assets)
    return layout.to_zip(_dump(write_card(layout.card, "v3"), indent=2).encode())


def _dump(value: Json, indent: int | None) -> str:
    separators = (",", ":") if indent is None else None
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
        if _is_encodable(text):
            return text
        return json.dumps(value, allow_nan=False, indent=indent, separators=separators)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidCardError(f"The card holds something that JSON cannot express: {error}.") from None


def _is_encodable(text: str) -> bool:
    """False for text with half a surrogate pair, which JSON can hold only as an escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _card_chunk(keyword: str, card: CharacterCard, spec: WritableSpec) -> bytes:
    payload = base64.b64encode(to_json(card, spec, indent=None).encode())
    return make_chunk(b"tEXt", keyword.encode() + b"\0" + payload)


def _picture_chunks(png: memoryview) -> list[Chunk]:
    if bytes(png[:8]) != PNG_SIGNATURE:
        raise PngWriteError("A card can only be put into a PNG picture. Convert the picture to PNG first.")
    try:
        chunks = list(walk_chunks(png, limit=DEFAULT_LIMITS.png_chunks))
    except PngParseError as error:
        raise PngWriteError(f"The picture cannot carry a card: {error}") from None
    if chunks[0].type != b"IHDR":
        raise PngWriteError("The picture cannot carry a card: it has no PNG header (IHDR).")
    return chunks


def _plain_picture() -> bytes:
    width, height = PLAIN_SIZE
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + PLAIN_COLOUR * width) * height
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(make_chunk(chunk_type, data) for chunk_type, data in chunks)
