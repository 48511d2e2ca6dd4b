"""The one door for card files of every format."""

from __future__ import annotations

import os
from pathlib import Path

from tavernkit.characters.bundle import Bundle
from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.byaf import MANIFEST_FILE, read_byaf
from tavernkit.characters.ingest.charx import CARD_FILE, read_charx, read_jpeg
from tavernkit.characters.ingest.detect import detect
from tavernkit.characters.ingest.png import read_png
from tavernkit.characters.ingest.text_file import read_json, read_yaml
from tavernkit.characters.ingest.webp import read_webp
from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.errors import ArchiveParseError, ParseError


def load(source: bytes | str | os.PathLike[str], *, limits: CardLimits = DEFAULT_LIMITS) -> Bundle:
    """Read a card file of any format, from its bytes or from the path where it lies.

    Raises InvalidCardError, UnsupportedVersionError or a ParseError; OSError if the path cannot be opened.
    """
    data = source if isinstance(source, bytes) else _read_path(Path(source), limits)
    if len(data) > limits.file_bytes:
        raise ParseError(_too_large(len(data), limits))
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


def _read_path(path: Path, limits: CardLimits) -> bytes:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limits.file_bytes:
            raise ParseError(_too_large(size, limits))
        return file.read(limits.file_bytes + 1)


def _read_zip(data: bytes, limits: CardLimits) -> Bundle:
    archive = Archive(data, limits)
    if CARD_FILE in archive:
        return read_charx(archive, limits)
    if MANIFEST_FILE in archive:
        return read_byaf(archive, limits)
    raise ArchiveParseError(
        f"The archive is no character card: it has neither {CARD_FILE} (CHARX) nor {MANIFEST_FILE} (BYAF)."
    )


def _too_large(size: int, limits: CardLimits) -> str:
    return f"The file has {size:,} bytes or more; at most {limits.file_bytes:,} are read."
