"""JPEG: a picture with a CHARX archive behind it."""

from __future__ import annotations

from tavernkit.characters.bundle import Bundle
from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.charx import CARD_FILE, read_charx
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ArchiveParseError, ParseError

LOCAL_HEADER = b"PK\x03\x04"


def read_jpeg(data: bytes, limits: CardLimits) -> Bundle:
    """Read the card behind a JPEG picture."""
    if LOCAL_HEADER not in data:
        raise ParseError("This is a JPEG picture without a character card: no CHARX archive follows the picture.")
    archive = Archive(data, limits)
    if CARD_FILE not in archive:
        raise ArchiveParseError(f"The archive behind the JPEG picture has no {CARD_FILE}, so it is not a CHARX file.")
    return read_charx(archive, limits, format="jpeg", cover=data[: archive.start])
