"""What a file is, by its content; names and extensions are never asked."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from tavernkit.characters.ingest.webp import is_webp
from tavernkit.characters.png_chunks import PNG_SIGNATURE
from tavernkit.errors import ParseError
from tavernkit.reading import decode_text

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
        raise ParseError("The file is not a character card: it is binary, and of no kind that is known here.")
    if start.startswith(("{", "[")):
        return "json"
    if start.startswith("<"):
        raise ParseError("The file is not a character card: it looks like a web page.")
    return "yaml"


def _stranger(data: bytes) -> str | None:
    if data[4:8] == b"ftyp":
        return "an AVIF picture or a video"
    return next((name for start, name in STRANGERS.items() if data.startswith(start)), None)
