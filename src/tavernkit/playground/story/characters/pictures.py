"""Pictures: what a stranger's file shows, as bytes of our own making, without anything else that was in it."""

from __future__ import annotations

import io
import struct
import threading
import zlib

from PIL import Image, ImageOps, UnidentifiedImageError

from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_chunks import PNG_SIGNATURE, walk_chunks
from tavernkit.errors import PngParseError, TavernKitError
from tavernkit.playground.base.blobs.store import MAX_BLOB_BYTES, NewBlob
from tavernkit.values import Value

MAX_PIXELS = 32_000_000
THUMBNAIL_SIZE = (400, 600)
LARGEST_SIZE = (2048, 3072)
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
SHOWN_CHUNKS = frozenset(
    (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"bKGD", b"pHYs",
     b"acTL", b"fcTL", b"fdAT")
)  # fmt: skip
"""What a PNG needs to be shown. Texts, dates and EXIF are none of it."""

# Pillow warns about large pictures, and not in a way that can be answered; they are measured below.
Image.MAX_IMAGE_PIXELS = None
_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, OverflowError, struct.error, zlib.error)
# A decoded picture takes up to 128 MB.
_decoding = threading.BoundedSemaphore(2)


class PictureError(TavernKitError):
    """A picture that cannot be shown."""


class Picture(Value, frozen=True, kw_only=True):
    """A picture as PNG, and a small one as WebP."""

    png: NewBlob
    thumbnail: NewBlob


def read_picture(data: bytes) -> Picture:
    """Decode a picture. A PNG keeps its pixels and its animation; others are turned upright and become PNG.

    Raises PictureError.
    """
    with _decoding:
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _check_size(image)
                image.load()
                png = _shown_chunks(data) if image.format == "PNG" else None
                upright = image if png else _upright(image)
                thumbnail = _thumbnail(upright)
                if png is None or len(png) > MAX_BLOB_BYTES:
                    png = _encoded(upright)
        except _DAMAGE as error:
            raise PictureError(f"The picture cannot be read: {_reason(error)}") from None
    return Picture(png=NewBlob.of(png), thumbnail=NewBlob.of(thumbnail))


def _check_size(image: Image.Image) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise PictureError(
            f"The picture has {width:,} × {height:,} pixels, and at most {MAX_PIXELS:,} in all can be shown. "
            "Make it smaller."
        )


def _upright(image: Image.Image) -> Image.Image:
    """The picture as its camera was held; as it lies there, where what the camera said cannot be read."""
    try:
        return ImageOps.exif_transpose(image)
    except _DAMAGE:
        return image


def _shown_chunks(data: bytes) -> bytes | None:
    """The PNG without what is not shown; None when it cannot be walked to its end."""
    png = memoryview(data)
    try:
        kept = [
            png[chunk.start : chunk.end]
            for chunk in walk_chunks(png, limit=DEFAULT_LIMITS.png_chunks)
            if chunk.type in SHOWN_CHUNKS
        ]
    except PngParseError:
        return None
    return b"".join([PNG_SIGNATURE, *kept])


def _thumbnail(image: Image.Image) -> bytes:
    small = _in_colour(image)
    small.thumbnail(THUMBNAIL_SIZE)
    return _saved(small, "WEBP", quality=82)


def _encoded(image: Image.Image) -> bytes:
    large = _in_colour(image)
    large.thumbnail(LARGEST_SIZE)
    return _saved(large, "PNG")


def _in_colour(image: Image.Image) -> Image.Image:
    """A copy in a mode that every format here can hold."""
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _saved(image: Image.Image, format: str, **options: int) -> bytes:
    # Made from the pixels alone, so that no metadata comes along.
    bare = Image.new(image.mode, image.size)
    bare.paste(image)
    buffer = io.BytesIO()
    bare.save(buffer, format, **options)
    return buffer.getvalue()


def _reason(error: BaseException) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is no PNG, JPEG, WebP or GIF."
    return f"{str(error).rstrip('.') or 'it is damaged'}."
