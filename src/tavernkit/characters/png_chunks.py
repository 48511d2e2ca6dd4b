"""The chunks of a PNG file, walked without decoding the picture, and texts put beside whatever else it carries."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.errors import PngParseError, PngWriteError
from tavernkit.values import Value

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXT_CHUNKS = (b"tEXt", b"zTXt", b"iTXt")
LONGEST_CHUNK = 2**31 - 1
LONGEST_KEYWORD = 1024


class Chunk(Value, frozen=True, kw_only=True):
    """One chunk: where it starts and ends in the file, and its data in between."""

    type: bytes
    start: int
    end: int
    data: memoryview

    @property
    def keyword(self) -> str | None:
        """A text chunk's keyword as it is written; None for any other chunk."""
        if self.type not in TEXT_CHUNKS:
            return None
        head = bytes(self.data[:LONGEST_KEYWORD])
        keyword, separator, _ = head.partition(b"\0")
        return keyword.decode("latin-1").strip() if separator else None

    def has_good_checksum(self, png: memoryview) -> bool:
        stored = int.from_bytes(png[self.end - 4 : self.end], "big")
        return stored == zlib.crc32(png[self.start + 4 : self.end - 4])


def walk_chunks(png: memoryview, *, limit: int) -> Iterator[Chunk]:
    """Yield chunks up to and including IEND; raises PngParseError where the file stops making sense."""
    if bytes(png[:8]) != PNG_SIGNATURE:
        raise PngParseError("This is not a PNG file: it does not start with the PNG signature.")
    position = len(PNG_SIGNATURE)
    for _ in range(limit):
        if position + 12 > len(png):
            raise PngParseError(f"The PNG ends at byte {len(png):,}, before its last chunk (IEND).")
        length, chunk_type = struct.unpack_from(">I4s", png, position)
        end = position + 12 + length
        if not chunk_type.isalpha() or length > LONGEST_CHUNK:
            raise PngParseError(f"The PNG is damaged at byte {position:,}: there is no chunk where one should start.")
        if end > len(png):
            name = chunk_type.decode("latin-1")
            raise PngParseError(f"The PNG is cut off inside the {name} chunk that starts at byte {position:,}.")
        yield Chunk(type=chunk_type, start=position, end=end, data=png[position + 8 : end - 4])
        if chunk_type == b"IEND":
            return
        position = end
    raise PngParseError(f"The PNG has more than {limit:,} chunks.")


def make_chunk(chunk_type: bytes, data: bytes) -> bytes:
    body = chunk_type + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def put_texts(image: bytes, texts: Mapping[str, bytes], *, drop: Callable[[Chunk], bool]) -> bytes:
    """Write each text under its keyword, before the picture's end.

    `drop` says which of the picture's own chunks are taken out; every other one is kept byte for byte.
    """
    png = memoryview(image)
    parts: list[bytes | memoryview] = [PNG_SIGNATURE]
    for chunk in _picture_chunks(png):
        if chunk.type == b"IEND":
            parts += [make_chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + text) for keyword, text in texts.items()]
        if not drop(chunk):
            parts.append(png[chunk.start : chunk.end])
    return b"".join(parts)


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
