"""Cards of TavernAI in WebP pictures."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from tavernkit.characters import CardLimits, load
from tavernkit.errors import InvalidCardError, ParseError
from tests.characters.card_files import exif, v1, v2, webp

CARD = json.dumps(v1(name="Ysoldé"), ensure_ascii=False).encode()
NUMBERS = ",".join(map(str, CARD)).encode()


@pytest.mark.parametrize(
    "data",
    [
        exif(CARD, kind=2),
        exif(CARD + b"\0"),
        exif(b"ASCII\0\0\0" + CARD, in_subdirectory=True),
        exif(b"\0" * 8 + CARD, in_subdirectory=True, order=">"),
        exif(b"UNICODE\0" + CARD.decode().encode("utf-16-le"), in_subdirectory=True),
        exif(b"UNICODE\0" + CARD.decode().encode("utf-16-be"), in_subdirectory=True, order=">"),
        exif(NUMBERS),
        exif(b"[" + NUMBERS + b"]", kind=2),
    ],
)
@pytest.mark.parametrize("mark", [b"", b"Exif\0\0"])
def test_the_card_is_read_from_the_exif_comment(data: bytes, mark: bytes) -> None:
    file = webp(data, mark=mark)
    bundle = load(file)
    assert (bundle.format, bundle.card.character.name, bundle.image) == ("webp", "Ysoldé", file)
    assert bundle.card.character.description == "Mends clocks."


def test_a_card_of_version_2_is_read_from_a_webp_picture() -> None:
    assert load(webp(exif(json.dumps(v2()).encode()))).card.spec == "v2"


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"II*\0",
        b"XX*\0" + bytes(20),
        b"II*\0" + struct.pack("<I", 0xFFFFFFFF),
        b"II*\0" + struct.pack("<IH", 8, 0xFFFF),
        exif(CARD)[:-5],
    ],
)
def test_a_webp_picture_without_a_whole_comment_is_refused(data: bytes | None) -> None:
    with pytest.raises(ParseError, match="a WebP picture without a character card"):
        load(webp(data))


@pytest.mark.parametrize(
    ("comment", "error", "message"),
    [
        (b"a lovely day", ParseError, "not valid JSON"),
        (b"1,2,999", ParseError, "no bytes"),
        (b'{"a": 1}', InvalidCardError, "no name"),
    ],
)
def test_a_comment_that_is_no_card_is_refused(comment: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(webp(exif(comment)))


@pytest.mark.parametrize(
    ("limits", "message"),
    [({"text_chunk_bytes": 100}, "at most 100 are read"), ({"png_chunks": 1}, "more than 1 chunks")],
)
def test_the_limits_hold_for_webp_pictures(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        load(webp(exif(CARD)), limits=CardLimits(**limits))
    with pytest.raises(ParseError, match="bytes of numbers"):
        load(webp(exif(NUMBERS)), limits=CardLimits(text_chunk_bytes=len(NUMBERS) + 100))
