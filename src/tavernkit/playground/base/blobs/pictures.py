"""Pictures that people upload: measured, made upright, and without what a camera or a program has written into them."""

from __future__ import annotations

import io
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image, ImageOps, UnidentifiedImageError

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.blobs.store import NewBlob
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.storable import storable
from tavernkit.values import Value

MAX_PIXELS = 32_000_000
LONGEST_SIDE = 2048
"""Larger pictures are made smaller: no model sees more of them."""
MAX_STORED_BYTES = 4 * 1024 * 1024
"""What is larger is written anew: providers take no more of one picture."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")

# Pillow warns about large pictures, and not in a way that can be answered; they are measured below.
Image.MAX_IMAGE_PIXELS = None
_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, OverflowError, struct.error, zlib.error)
# A decoded picture takes up to 128 MB.
_decoding = threading.BoundedSemaphore(2)
_SHOWN_INFO = frozenset(
    ("transparency", "gamma", "srgb", "chromaticity", "dpi", "jfif", "jfif_version", "jfif_unit", "jfif_density",
     "progressive", "progression", "adobe", "adobe_transform", "icc_profile", "background", "duration", "loop",
     "timestamp", "version", "extension", "interlace", "default_image")
)  # fmt: skip
"""What Pillow knows of a picture that is needed to show it, and says nothing of who made it."""


class PictureError(TavernKitError):
    """A picture that cannot be shown; the message says why, and what to do."""


class MeasuredPicture(Value, frozen=True, kw_only=True):
    """A picture as it is stored, and its size in pixels."""

    blob: NewBlob
    width: int
    height: int


def read_upload(data: bytes) -> MeasuredPicture:
    """A picture that somebody uploads. One that is small enough, and holds nothing but the picture, stays as it is.

    Raises PictureError.
    """
    return _read(data, as_it_is=False)


def measure(data: bytes) -> MeasuredPicture:
    """A picture of a file that must come back as it was; raises PictureError."""
    return _read(data, as_it_is=True)


def _read(data: bytes, *, as_it_is: bool) -> MeasuredPicture:
    with opened(data) as image:
        if as_it_is or _is_fine(image, data):
            return MeasuredPicture(blob=NewBlob.of(data), width=image.width, height=image.height)
        return _rewritten(image)


@contextmanager
def opened(data: bytes) -> Iterator[Image.Image]:
    """The decoded picture, one of few at a time. Raises PictureError."""
    with _decoding:
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _check_size(image)
                image.load()
                yield image
        except _DAMAGE as error:
            raise PictureError(_("The picture cannot be read: {reason}", reason=_reason(error))) from None


def upright(image: Image.Image) -> Image.Image:
    """The picture as its camera was held; as it lies there, where what the camera said cannot be read."""
    try:
        return ImageOps.exif_transpose(image)
    except _DAMAGE:
        return image


def bare_copy(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The pixels alone, of at most this size, in a mode that every format here can hold."""
    copy = image.convert("RGBA" if image.has_transparency_data else "RGB")
    copy.thumbnail(size)
    bare = Image.new(copy.mode, copy.size)
    bare.paste(copy)
    return bare


def saved(image: Image.Image, format: str, **options: int) -> bytes:
    """The file of a picture."""
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def _check_size(image: Image.Image) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise PictureError(
            _(
                "The picture is too large: {width} × {height} pixels. The limit is {limit} pixels in all. Resize it.",
                width=width,
                height=height,
                limit=MAX_PIXELS,
            )
        )


def _is_fine(image: Image.Image, data: bytes) -> bool:
    is_small = max(image.size) <= LONGEST_SIDE and len(data) <= MAX_STORED_BYTES
    return is_small and not image.getexif() and _SHOWN_INFO.issuperset(image.info)


def _rewritten(image: Image.Image) -> MeasuredPicture:
    """The pixels alone, small enough; a picture without see-through parts becomes a JPEG if it is large as a PNG."""
    bare = bare_copy(upright(image), (LONGEST_SIDE, LONGEST_SIDE))
    written = b"" if image.format == "JPEG" else saved(bare, "PNG")
    if not written or len(written) > MAX_STORED_BYTES:
        written = saved(bare, "WEBP" if bare.mode == "RGBA" else "JPEG", quality=90)
    return MeasuredPicture(blob=NewBlob.of(written), width=bare.width, height=bare.height)


def _reason(error: BaseException) -> str:
    if isinstance(error, UnidentifiedImageError):
        return _("it is not a PNG, JPEG, WebP or GIF file.")
    return f"{storable(str(error)).rstrip('.')}." if str(error) else _("it is damaged.")
