"""Card files out: JSON, PNG and CHARX. The same card and picture always give the same bytes."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable

from tavernkit.characters.bundle import Asset
from tavernkit.characters.character import CharacterCard, WritableSpec
from tavernkit.characters.charx_layout import lay_out
from tavernkit.characters.encode import write_card
from tavernkit.characters.ingest.png import ASSET_KEYWORD, CARD_KEYWORDS
from tavernkit.characters.png_assets import name_assets
from tavernkit.characters.png_chunks import PNG_SIGNATURE, Chunk, make_chunk
from tavernkit.characters.png_texts import put_texts
from tavernkit.errors import InvalidCardError
from tavernkit.values import Json

PLAIN_SIZE = (256, 384)
PLAIN_COLOUR = bytes((104, 112, 128))


def to_json(card: CharacterCard, spec: WritableSpec = "v3", *, indent: int | None = 2) -> str:
    """Write a card as JSON text that any JSON reader takes, and that can always be encoded as UTF-8."""
    return _dump(write_card(card, spec), indent)


def to_png(card: CharacterCard, image: bytes | None = None, assets: Iterable[Asset] = ()) -> bytes:
    """Put a card into a PNG or APNG picture, as version 2 (`chara`) and as version 3 (`ccv3`), and assets beside it.

    Cards that the picture already carries are taken out, and its assets where others are given; every other chunk is
    kept byte for byte. References into an archive (`embeded://`) become references into the PNG (`__asset:`). Without
    a picture, a plain one is made.
    """
    named, files = name_assets(card, assets)
    texts = {**files, "chara": _card_text(named, "v2"), "ccv3": _card_text(named, "v3")}

    def drop(chunk: Chunk) -> bool:
        keyword = (chunk.keyword or "").lower()
        return keyword in CARD_KEYWORDS or (bool(files) and keyword.startswith(ASSET_KEYWORD))

    return put_texts(_plain_picture() if image is None else image, texts, drop=drop)


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


def _card_text(card: CharacterCard, spec: WritableSpec) -> bytes:
    return base64.b64encode(to_json(card, spec, indent=None).encode())


def _plain_picture() -> bytes:
    width, height = PLAIN_SIZE
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + PLAIN_COLOUR * width) * height
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(make_chunk(chunk_type, data) for chunk_type, data in chunks)
