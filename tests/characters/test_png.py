"""Cards inside PNG pictures: which chunk is read, what damage is tolerated, and what a rewrite keeps."""

from __future__ import annotations

import base64
import io
import json
import zlib

import pytest
from hypothesis import given
from PIL import Image

from tavernkit.characters import CardLimits, load, read_card, to_png
from tavernkit.characters.ingest.png import needs_password, without_password
from tavernkit.errors import InvalidCardError, PngParseError, PngWriteError, UnsupportedVersionError
from tests.characters import card_files as files
from tests.characters.card_files import chunk, itxt, packed, png, sealed, text, v2, v3, ztxt
from tests.strategies import cards

CARD = packed(v2())


def paths(notes):
    return [note.path for note in notes]


@pytest.mark.parametrize(
    "card_chunk",
    [
        text("chara", CARD),
        text("CHARA", CARD),
        text("ccv3", CARD),
        ztxt("chara", CARD),
        itxt("chara", CARD),
        itxt("ccv3", CARD, compressed=True),
    ],
)
def test_every_kind_of_text_chunk_is_read(card_chunk):
    bundle = load(png(card_chunk))
    assert bundle.format == "png"
    assert bundle.card.character.name == "Ysolde"
    assert bundle.report.is_exact


def test_an_animated_picture_is_named_so():
    assert load(png(text("chara", CARD), animated=True)).format == "apng"


def test_ccv3_is_preferred_wherever_it_stands():
    both = (text("chara", packed(v2(name="Two"))), text("ccv3", packed(v3(name="Three"))))
    assert load(png(*both)).card.character.name == "Three"
    assert load(png(*reversed(both))).card.character.name == "Three"


def test_the_first_of_two_equal_keywords_counts():
    bundle = load(png(text("chara", packed(v2(name="First"))), ztxt("Chara", packed(v2(name="Second")))))
    assert bundle.card.character.name == "First"
    assert paths(bundle.report.ignored) == ["chara"]


@pytest.mark.parametrize(
    "broken",
    [
        text("ccv3", b"@@@@"),
        text("ccv3", packed({"spec": "chara_card_v9", "data": {"name": "x"}})),
        text("ccv3", packed([1])),
        text("ccv3", base64.b64encode(b'{"name": "cut')),
        chunk(b"zTXt", b"ccv3\0\0not deflate"),
        chunk(b"zTXt", b"ccv3\0\0" + zlib.compress(CARD)[:-20]),
        chunk(b"zTXt", b"ccv3\0\7" + zlib.compress(CARD)),
        chunk(b"iTXt", b"ccv3\0\0\0no end"),
    ],
)
def test_a_broken_ccv3_falls_back_to_chara(broken):
    bundle = load(png(broken, text("chara", CARD)))
    assert bundle.card.character.name == "Ysolde"
    assert paths(bundle.report.ignored) == ["ccv3"]


def test_without_a_fallback_the_error_of_the_broken_chunk_is_raised():
    with pytest.raises(PngParseError, match="ccv3 chunk is not valid JSON"):
        load(png(text("ccv3", base64.b64encode(b'{"name": "cut'))))
    with pytest.raises(InvalidCardError, match="no name"):
        load(png(text("chara", packed({"a": 1}))))


def test_a_wrong_checksum_is_tolerated():
    bundle = load(png(text("chara", CARD, crc=1)))
    assert paths(bundle.report.converted) == ["chara"]


@pytest.mark.parametrize("cut", [1, 12, 20, len(files.PIXELS) + 12])
def test_a_cut_off_picture_still_gives_its_card(cut):
    bundle = load(png(text("chara", CARD))[:-cut])
    assert bundle.card.character.name == "Ysolde"
    assert paths(bundle.report.ignored) == [""]


def test_a_cut_off_card_is_an_error_that_says_where():
    whole = png(text("chara", CARD))
    with pytest.raises(PngParseError, match="cut off inside the tEXt chunk that starts at byte 33"):
        load(whole[: whole.index(CARD) + 10])


def test_garbage_where_a_chunk_should_be():
    with pytest.raises(PngParseError, match="damaged at byte"):
        load(png(b"\0\0\0\1\0\0\0\0garbage"))


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps(v2()).encode(),
        CARD.rstrip(b"="),
        CARD.replace(b"+", b"-").replace(b"/", b"_") + b"\n",
        b"\xef\xbb\xbf" + CARD,
    ],
)
def test_unusual_payloads_are_read(payload):
    assert load(png(text("chara", payload))).card.character.name == "Ysolde"


def test_base64_in_lines_is_read_exactly():
    lines = b"\r\n".join(CARD[start : start + 76] for start in range(0, len(CARD), 76))
    assert load(png(text("chara", lines))).report.is_exact


def test_a_picture_without_a_card():
    with pytest.raises(PngParseError, match="contains no character card"):
        load(png(text("Comment", b"hello")))


def test_v15_a_card_that_risuai_has_encrypted_with_a_password_is_opened_with_it():
    locked = png(text("Comment", b"hello"), text("chara", sealed(v2(name="Ada"), b"sesame", usePassword=True)))
    assert needs_password(locked)
    opened = without_password(locked, "sesame")
    assert load(opened).card.character.name == "Ada"
    assert b"hello" in opened
    assert not needs_password(opened)
    with pytest.raises(PngParseError, match="The password is wrong"):
        without_password(locked, "sesamo")


def test_v15_a_card_that_risuai_has_encrypted_without_a_password_is_read():
    assert load(png(text("chara", sealed(v2(name="Ada"), usePassword=False)))).card.character.name == "Ada"


@pytest.mark.parametrize(
    ("payload", "error", "message"),
    [
        (sealed(v2(), b"sesame", usePassword=True), UnsupportedVersionError, "with a password. Import it with"),
        (b"rcc||rccv1||abc||def", UnsupportedVersionError, "not known here"),
        (b"rcc||rccv9||AAAA||hash||e30=", UnsupportedVersionError, "not known here"),
        (b"rcc||rccv1||AAAA||hash||e30=", PngParseError, "damaged"),
        (b"rcc||rccv1||A||hash||e30=", PngParseError, "damaged"),
    ],
)
def test_v15_an_encrypted_card_that_cannot_be_read_is_refused_with_advice(payload, error, message):
    with pytest.raises(error, match=message):
        load(png(text("chara", payload)))


def test_limits_on_chunks():
    many = [chunk(b"teSt", b"")] * 30
    with pytest.raises(PngParseError, match="more than 20 chunks"):
        load(png(*many, text("chara", CARD)), limits=CardLimits(png_chunks=20))
    with pytest.raises(PngParseError, match="at most 100 are read"):
        load(png(text("chara", CARD)), limits=CardLimits(text_chunk_bytes=100))
    with pytest.raises(PngParseError, match="inflates to more than"):
        load(png(ztxt("chara", b"A" * 5000)), limits=CardLimits(text_chunk_bytes=1000))


def test_embedded_assets_are_found_by_their_uri():
    icon = {"type": "icon", "uri": "__asset:0", "name": "main", "ext": "png"}
    source = png(
        text("chara-ext-asset_:0", base64.b64encode(b"zero")),
        text("chara-ext-asset_:Sub/One.PNG", base64.b64encode(b"one")),
        text("chara-ext-asset_2", b"A"),
        text("ccv3", packed(v3(assets=[icon]))),
    )
    bundle = load(source)
    assert [asset.name for asset in bundle.assets] == ["0", "Sub/One.PNG", "2"]
    assert bundle.asset("__asset:0").read() == b"zero"
    assert bundle.asset("__asset:Sub/One.PNG").read() == b"one"
    assert bundle.asset("__asset:9") is None
    with pytest.raises(PngParseError, match="'2' inside the PNG is not valid base64"):
        bundle.asset("__asset:2").read()


@given(source=cards)
def test_writing_and_reading_a_picture_is_the_identity(source):
    card, _ = read_card(source)
    bundle = load(to_png(card))
    written_as_v3 = card.with_(spec="v3", spec_version=card.spec_version if card.spec == "v3" else "3.0")
    assert bundle.card == written_as_v3


def test_both_versions_are_written_before_the_end():
    card, _ = read_card(v3(nickname="Yso"))
    written = to_png(card, png())
    assert written.startswith(png()[: -len(files.END)])
    assert written.endswith(files.END)
    assert written.count(b"chara\0") == written.count(b"ccv3\0") == 1
    assert written.index(b"chara\0") < written.index(b"ccv3\0")


def test_stale_cards_of_any_kind_are_removed():
    stale = packed(v3(name="Stale"))
    old = png(text("chara", stale), ztxt("ccv3", stale), itxt("CCV3", stale), text("Chara", stale))
    card, _ = read_card(v2(name="Fresh"))
    written = to_png(card, old)
    assert load(written).card.character.name == "Fresh"
    assert written.lower().count(b"ccv3\0") == written.lower().count(b"chara\0") == 1


def test_all_other_chunks_are_kept_byte_for_byte():
    frame = chunk(b"fcTL", bytes(26))
    asset = text("chara-ext-asset_:0", base64.b64encode(b"zero"))
    others = (text("Software", b"brush"), frame, asset, chunk(b"teSt", b"x", crc=7))
    old = png(text("chara", CARD), *others, animated=True)
    bundle = load(old)
    written = to_png(bundle.card, bundle.image)
    assert b"".join(others) in written
    assert load(written).asset("__asset:0").read() == b"zero"
    assert load(written).format == "apng"


def test_a_picture_is_made_where_there_is_none():
    card, _ = read_card(v3())
    written = to_png(card)
    assert written == to_png(card)
    with Image.open(io.BytesIO(written)) as picture:
        picture.load()
        assert picture.size == (256, 384)


@pytest.mark.parametrize("image", [b"", files.JPEG, b"GIF89a", png()[:-5], files.SIGNATURE + files.END])
def test_what_is_no_whole_png_cannot_carry_a_card(image):
    card, _ = read_card(v3())
    with pytest.raises(PngWriteError):
        to_png(card, image)


def test_a_file_that_risuai_wrote():
    # formats.json, case png_write
    written = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAABJ0RVh0Y2hhcmEAZXlKaElqb3hm"
        "UT09PKyBUgAAAABJRU5ErkJggg=="
    )
    with pytest.raises(InvalidCardError, match="no name"):
        load(written)
