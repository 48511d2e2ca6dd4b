"""Texts into a PNG picture, beside whatever else it carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_chunks import PNG_SIGNATURE, Chunk, make_chunk, walk_chunks
from tavernkit.errors import PngParseError, PngWriteError


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
