"""WebP: the cards of TavernAI, in the EXIF comment of the picture."""

from __future__ import annotations

import re
import struct

from tavernkit.characters.character import Bundle
from tavernkit.characters.decode import decode_card
from tavernkit.characters.ingest.text_file import parse_card_json
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder

EXIF_MARK = b"Exif\0\0"
EXIF_DIRECTORY = 0x8769
USER_COMMENT = 0x9286
CHARSETS = (b"ASCII\0\0\0", b"JIS\0\0\0\0\0", b"\0" * 8)
UNICODE = b"UNICODE\0"
BYTES_OF_TYPE = {1: 1, 2: 1, 3: 2, 4: 4, 7: 1}
NUMBERS = re.compile(rb"\s*\[?[\d\s,]+\]?\s*")


def is_webp(data: bytes) -> bool:
    """Whether the bytes begin as a WebP picture does."""
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def read_webp(data: bytes, limits: CardLimits) -> Bundle:
    """Read the card of a WebP picture: JSON, or the numbers of its bytes, in the EXIF field UserComment."""
    report = ReportBuilder()
    exif = _exif_chunk(data, limits)
    comment = None if exif is None else _user_comment(exif)
    if not comment:
        raise ParseError(
            "This is a WebP picture without a character card: it has no EXIF comment. "
            "Pictures lose their card when they are edited or re-saved by a website."
        )
    source = parse_card_json(_plain(comment, limits, report), report, limits, what="The card in the WebP picture")
    card = decode_card(source, report, limits=limits)
    return Bundle(format="webp", card=card, report=report.build("webp"), image=data)


def _exif_chunk(data: bytes, limits: CardLimits) -> bytes | None:
    position = 12
    for _ in range(limits.png_chunks):
        if position + 8 > len(data):
            return None
        kind, size = struct.unpack_from("<4sI", data, position)
        if kind == b"EXIF":
            if size > limits.text_chunk_bytes:
                raise ParseError(
                    f"The EXIF data of the WebP picture has {size:,} bytes; at most {limits.text_chunk_bytes:,} are"
                    " read."
                )
            return data[position + 8 : position + 8 + size]
        position += 8 + size + size % 2
    raise ParseError(f"The WebP picture has more than {limits.png_chunks:,} chunks.")


def _user_comment(exif: bytes) -> bytes | None:
    """The comment where TavernAI wrote it, among the fields of the picture, or where EXIF has it, one level deeper."""
    tiff = exif.removeprefix(EXIF_MARK)
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < 8:
        return None
    fields = _fields(tiff, order, struct.unpack_from(f"{order}I", tiff, 4)[0])
    deeper = fields.get(EXIF_DIRECTORY, b"")
    if USER_COMMENT not in fields and len(deeper) == 4:
        fields = _fields(tiff, order, struct.unpack(f"{order}I", deeper)[0])
    comment = fields.get(USER_COMMENT)
    if comment is None:
        return None
    if comment.startswith(UNICODE):
        text = comment.removeprefix(UNICODE).decode("utf-16-le" if order == "<" else "utf-16-be", "replace")
        return text.rstrip("\0").encode()
    charset = next((mark for mark in CHARSETS if comment.startswith(mark)), b"")
    return comment.removeprefix(charset).rstrip(b"\0 ")


def _fields(tiff: bytes, order: str, start: int) -> dict[int, bytes]:
    """The two fields that are looked for, out of one directory; one that lies outside of the data is left out."""
    found: dict[int, bytes] = {}
    if start + 2 > len(tiff):
        return found
    count = struct.unpack_from(f"{order}H", tiff, start)[0]
    for position in range(start + 2, min(start + 2 + 12 * count, len(tiff) - 11), 12):
        tag, kind, length = struct.unpack_from(f"{order}HHI", tiff, position)
        if tag not in (EXIF_DIRECTORY, USER_COMMENT) or kind not in BYTES_OF_TYPE:
            continue
        size = length * BYTES_OF_TYPE[kind]
        place = position + 8 if size <= 4 else struct.unpack_from(f"{order}I", tiff, position + 8)[0]
        if place + size <= len(tiff):
            found.setdefault(tag, tiff[place : place + size])
    return found


def _plain(comment: bytes, limits: CardLimits, report: ReportBuilder) -> bytes:
    """The JSON of a comment. Older versions of SillyTavern wrote the numbers of its bytes, with commas between."""
    if not NUMBERS.fullmatch(comment):
        return comment
    if len(comment) > limits.text_chunk_bytes // 4:
        raise ParseError(
            f"The card in the WebP picture is {len(comment):,} bytes of numbers; at most"
            f" {limits.text_chunk_bytes // 4:,} are read."
        )
    try:
        plain = bytes(int(number[0]) for number in re.finditer(rb"\d{1,4}", comment))
    except ValueError:
        raise ParseError("The card in the WebP picture is a list of numbers that are no bytes.") from None
    report.converted("UserComment", "a list of numbers read as the bytes that they stand for")
    return plain
