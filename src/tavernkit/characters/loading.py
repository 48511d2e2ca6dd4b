"""The one door for card files of every format; what a file is, is told by its content, never by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.characters.character import Bundle
from tavernkit.characters.decode import read_card
from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.byaf import MANIFEST_FILE, read_byaf
from tavernkit.characters.ingest.charx import CARD_FILE, read_charx, read_jpeg
from tavernkit.characters.ingest.png import read_png
from tavernkit.characters.ingest.text_file import read_json, read_yaml
from tavernkit.characters.ingest.webp import is_webp, read_webp
from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.characters.png_chunks import PNG_SIGNATURE
from tavernkit.errors import ArchiveParseError, InvalidCardError, ParseError
from tavernkit.importers import shared_importers
from tavernkit.reading import Source, decode_text, open_source
from tavernkit.values import Json

Container: TypeAlias = Literal["png", "jpeg", "webp", "zip", "json", "yaml"]

CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
STRANGERS = {
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a gzip file",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"BM": "a BMP picture",
    b"SQLite format 3\0": "an SQLite database",
    b"o\0": "a RisuAI module (.risum), which holds lore, scripts and triggers but no character",
    b"\x10\x03\xfc": "a RisuAI preset (.risup)",
}


def detect(data: bytes) -> Container:
    """Say which container the bytes are; raises ParseError naming what they look like instead."""
    if data.startswith(PNG_SIGNATURE):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if is_webp(data):
        return "webp"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if not data.strip():
        raise ParseError("The file is empty.")
    return _detect_text(data)


def _detect_text(data: bytes) -> Container:
    stranger = _stranger(data)
    if stranger is not None:
        raise ParseError(f"The file is not a character card: it looks like {stranger}.")
    start = decode_text(data[:4096], what="The file").lstrip("\ufeff \t\r\n")
    if CONTROL.search(start):
        raise ParseError("The file is not a character card: it is a binary file of an unknown kind.")
    if start.startswith(("{", "[")):
        return "json"
    if start.startswith("<"):
        raise ParseError("The file is not a character card: it looks like a web page.")
    return "yaml"


def _stranger(data: bytes) -> str | None:
    if data[4:8] == b"ftyp":
        return "an AVIF picture or a video"
    return next((name for start, name in STRANGERS.items() if data.startswith(start)), None)


def load(source: Source, *, limits: CardLimits = DEFAULT_LIMITS, strict: bool = False) -> Bundle:
    """Read a card file of any format, from its bytes or from the path where it lies, or a card's JSON object.

    Raises InvalidCardError, UnsupportedVersionError or a ParseError; OSError if the path cannot be opened. A strict
    reader raises InvalidCardError where something in the card is broken.
    """
    data, file = open_source(source, max_bytes=limits.file_bytes, what="The file")
    bundle = _read(data, limits)
    report = bundle.report.with_(file=file, error=InvalidCardError)
    if strict:
        report.refuse_broken()
    return bundle.with_(report=report)


def _read(data: bytes | str | Mapping[str, Json], limits: CardLimits) -> Bundle:
    if isinstance(data, Mapping):
        card, report = read_card(data, limits=limits)
        return Bundle(format="json", card=card, report=report)
    if isinstance(data, str):
        data = data.encode()
    if len(data) > limits.file_bytes:
        raise ParseError(f"The file has {len(data):,} bytes; at most {limits.file_bytes:,} are read.")
    imported = shared_importers().characters.read(data)
    if imported is not None:
        return imported[0]
    match detect(data):
        case "png":
            return read_png(data, limits)
        case "jpeg":
            return read_jpeg(data, limits)
        case "webp":
            return read_webp(data, limits)
        case "zip":
            return _read_zip(data, limits)
        case "json":
            return read_json(data, limits)
        case "yaml":
            return read_yaml(data, limits)


def _read_zip(data: bytes, limits: CardLimits) -> Bundle:
    archive = Archive(data, limits)
    if CARD_FILE in archive:
        return read_charx(archive, limits)
    if MANIFEST_FILE in archive:
        return read_byaf(archive, limits)
    raise ArchiveParseError(
        f"The archive is not a character card: it has neither {CARD_FILE} (CHARX) nor {MANIFEST_FILE} (BYAF)."
    )
