"""Pictures of strangers: shown, and nothing else of them kept."""

import io
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tavernkit.playground.base.blobs.pictures import PictureError
from tavernkit.playground.story.characters.files import read_picture
from tests.characters.card_files import END, HEADER, PIXELS, SIGNATURE, chunk, text
from tests.playground.characters.builders import picture


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def test_a_png_keeps_its_pixels_byte_for_byte_and_loses_the_rest() -> None:
    plain = picture("navy")
    told = (
        plain[:-12] + text("Comment", b"where I live") + chunk(b"eXIf", b"II*\0GPS") + plain[-12:] + b"behind the end"
    )
    assert read_picture(told).png.data == plain


def test_an_animation_stays_one() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    buffer = io.BytesIO()
    frames[0].save(buffer, "PNG", save_all=True, append_images=frames[1:])
    assert getattr(opened(read_picture(buffer.getvalue()).png.data), "n_frames", 1) == 2


def test_a_photograph_is_turned_upright_and_forgets_where_it_was_taken() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "where I live"
    read = read_picture(picture(size=(60, 40), format="JPEG", exif=exif))
    upright = opened(read.png.data)
    assert (upright.format, upright.size, dict(upright.getexif())) == ("PNG", (40, 60), {})
    assert b"where I live" not in read.png.data + read.thumbnail.data


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_thumbnail_is_small_and_keeps_the_shape(format: str) -> None:
    thumbnail = opened(read_picture(picture(size=(800, 900), format=format)).thumbnail.data)
    assert (thumbnail.format, thumbnail.size) == ("WEBP", (400, 450))


def test_what_is_transparent_stays_transparent() -> None:
    buffer = io.BytesIO()
    Image.new("RGBA", (10, 10), (255, 0, 0, 0)).save(buffer, "PNG")
    assert opened(read_picture(buffer.getvalue()).thumbnail.data).mode == "RGBA"


def bomb(width: int, height: int) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return SIGNATURE + header + chunk(b"IDAT", zlib.compress(b"\0" * 1_000_000)) + END


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bomb(60_000, 60_000), "60,000 × 60,000 pixels"),
        (bomb(2**31 - 1, 2**31 - 1), "pixels"),
        (bomb(2000, 2000), "cannot be read"),
        (b"", "not a PNG, JPEG, WebP or GIF"),
        (b"<svg onload='alert(1)'/>", "not a PNG, JPEG, WebP or GIF"),
        (b"%PDF-1.4", "not a PNG, JPEG, WebP or GIF"),
        (picture(format="BMP"), "not a PNG, JPEG, WebP or GIF"),
        (picture()[:60], "cannot be read"),
        (SIGNATURE + HEADER + END, "cannot be read"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(data: bytes, words: str) -> None:
    with pytest.raises(PictureError, match=words) as refusal:
        read_picture(data)
    assert str(refusal.value).endswith(".")


@settings(max_examples=150)
@given(
    source=st.sampled_from([picture(format=format) for format in ("PNG", "JPEG", "WEBP", "GIF")]),
    place=st.floats(0, 1),
    junk=st.binary(max_size=12),
)
def test_damage_is_never_more_than_a_refusal(source: bytes, place: float, junk: bytes) -> None:
    at = int(place * len(source))
    try:
        read = read_picture(source[:at] + junk + source[at + len(junk) :])
    except PictureError:
        return
    assert opened(read.thumbnail.data).format == "WEBP"


def test_a_picture_of_one_pixel_is_a_picture() -> None:
    assert opened(read_picture(SIGNATURE + HEADER + PIXELS + END).thumbnail.data).size == (1, 1)
