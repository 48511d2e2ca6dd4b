"""Assets into a PNG file, and out of it again."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.characters import Asset, CardLimits, load, read_card, to_charx, to_png
from tavernkit.errors import PngParseError
from tests.characters.card_files import packed, png, text, v3, ztxt


def reference(uri: str, **fields: str) -> dict[str, str]:
    return {"type": "emotion", "uri": uri, "name": "joy", "ext": "png", **fields}


def card(*references: dict[str, str]):
    return read_card(v3(assets=list(references)))[0]


def uris(bundle):
    return [asset.uri for asset in bundle.card.character.assets or ()]


def asset(uri: str, data: bytes) -> Asset:
    return Asset(name=uri, uri=uri, load=lambda: data)


def test_references_into_an_archive_become_references_into_the_picture():
    named = card(reference("embeded://a.png"), reference("embedded://b.png"), reference("https://example.invalid"))
    bundle = load(to_png(named, png(), [asset("embeded://a.png", b"a"), asset("embeded://b.png", b"b")]))
    assert uris(bundle) == ["__asset:1", "__asset:2", "https://example.invalid"]
    assert [each.read() for each in bundle.assets] == [b"a", b"b"]


def test_an_asset_of_a_picture_keeps_its_name_and_others_do_not_take_it():
    named = card(reference("__asset:1"), reference("embeded://b.png"))
    bundle = load(to_png(named, png(), [asset("embeded://b.png", b"b"), asset("__asset:1", b"a")]))
    assert uris(bundle) == ["__asset:1", "__asset:2"]
    assert {each.uri: each.read() for each in bundle.assets} == {"__asset:1": b"a", "__asset:2": b"b"}


def test_a_name_that_no_keyword_can_have_becomes_a_number():
    named = card(reference("__asset:海"), reference("__asset:" + "x" * 200))
    bundle = load(to_png(named, png(), [asset("__asset:海", b"a"), asset("__asset:" + "x" * 200, b"b")]))
    assert uris(bundle) == ["__asset:1", "__asset:2"]


def test_a_main_icon_of_an_archive_is_the_picture_itself():
    named = card(reference("embeded://main.png", type="icon", name="main"), reference("embeded://gone.png"))
    assert uris(load(to_png(named, png()))) == ["ccdefault:", "embeded://gone.png"]


def test_other_assets_take_the_place_of_those_in_the_picture():
    old = png(text("chara-ext-asset_:1", base64.b64encode(b"old")), text("chara-ext-asset_2", b"AAAA"))
    bundle = load(to_png(card(), old, [asset("embeded://a", b"new")]))
    assert [each.read() for each in bundle.assets] == [b"new"]
    assert [each.name for each in load(to_png(card(), old)).assets] == ["1", "2"]


@given(contents=st.lists(st.binary(max_size=20), max_size=4))
def test_from_an_archive_to_a_picture_and_back(contents):
    files = [asset(f"embeded://assets/{number}.bin", data) for number, data in enumerate(contents)]
    named = card(*(reference(each.uri, ext="bin") for each in files))
    picture = load(to_png(named, png(), load(to_charx(named, assets=files)).assets))
    archive = load(to_charx(picture.card, assets=picture.assets))
    for bundle in (picture, archive):
        found = [bundle.asset(uri) for uri in uris(bundle)]
        assert [each.read() for each in found if each] == contents


def test_the_number_of_assets_is_limited():
    source = png(*(text(f"chara-ext-asset_:{number}", b"") for number in range(4)), text("ccv3", packed(v3())))
    assert len(load(source).assets) == 4
    with pytest.raises(PngParseError, match="contains 4 assets; at most 3"):
        load(source, limits=CardLimits(assets=3))


def test_assets_that_are_larger_unpacked_than_allowed_are_refused():
    packed_asset = base64.b64encode(bytes(3000))
    chunks = [ztxt(f"chara-ext-asset_:{number}", packed_asset) for number in range(3)]
    source = png(*chunks, text("ccv3", packed(v3())))
    first, second, third = load(source, limits=CardLimits(archive_total_bytes=7000)).assets
    assert [len(each.read()) for each in (first, second, first)] == [3000] * 3
    with pytest.raises(PngParseError, match="more than 7,000 bytes"):
        third.read()
    with pytest.raises(PngParseError, match="inflates to more than"):
        load(source, limits=CardLimits(archive_entry_bytes=2000, text_chunk_bytes=2000)).assets[0].read()


def test_an_asset_in_a_picture_may_be_as_large_as_in_an_archive():
    limits = CardLimits(archive_entry_bytes=3000, text_chunk_bytes=2000)
    source = to_png(card(), png(), [asset("embeded://a", bytes(3000))])
    assert load(source, limits=limits).assets[0].read() == bytes(3000)
