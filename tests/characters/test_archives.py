"""CHARX, JPEG and BYAF: cards in archives, and archives that mean harm."""

from __future__ import annotations

import base64
import json
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given

from tavernkit.characters import Asset, CardLimits, load, read_card, to_charx, write_card
from tavernkit.errors import ArchiveParseError, InvalidCardError, ParseError
from tests.characters import card_files as files
from tests.characters.card_files import archive, byaf, charx, packed, png, text, v2, v3
from tests.strategies import cards

ICON = {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}
JOY = {"type": "emotion", "uri": "embedded://assets/joy.png", "name": "joy", "ext": "png"}


def full_charx() -> bytes:
    pictures = {"assets/icon/main.png": png(), "assets/joy.png": b"joy", "module.risum": b"o\0"}
    return charx(v3(assets=[ICON, JOY]), **pictures)


def test_a_charx_file_gives_card_picture_and_files():
    bundle = load(full_charx())
    assert bundle.format == "charx"
    assert bundle.report.is_exact
    assert bundle.image == png()
    assert [asset.name for asset in bundle.assets] == ["assets/icon/main.png", "assets/joy.png", "module.risum"]
    assert bundle.asset("embeded://assets/joy.png").read() == b"joy"
    assert bundle.asset(JOY["uri"]).read() == b"joy"


def test_the_first_icon_stands_in_for_a_main_one():
    other = {**ICON, "name": "second"}
    assert load(charx(v3(assets=[JOY, other]), **{"assets/icon/main.png": b"pic"})).image == b"pic"


def test_missing_files_and_older_cards_are_noted():
    bundle = load(charx(v2(assets=[ICON])))
    assert bundle.image is None
    assert [note.path for note in bundle.report.notes] == ["card.json", "data.assets[0]"]


def test_a_jpeg_with_an_archive_behind_it():
    bundle = load(files.JPEG + charx(v3()))
    assert bundle.format == "jpeg"
    assert bundle.card.character.name == "Ysolde"
    assert bundle.image == files.JPEG
    assert load(files.JPEG + full_charx()).image == png()


def test_a_jpeg_without_a_card():
    with pytest.raises(ParseError, match="JPEG picture without a character card"):
        load(files.JPEG)
    with pytest.raises(ArchiveParseError, match=r"no card\.json"):
        load(files.JPEG + archive({"a": b""}))


def test_an_archive_of_something_else():
    with pytest.raises(ArchiveParseError, match=r"neither card\.json"):
        load(archive({"readme.txt": b"hello"}))
    with pytest.raises(ArchiveParseError, match="cannot be opened"):
        load(b"PK\x03\x04 and nothing more")


def test_a_broken_card_in_an_archive_says_where():
    with pytest.raises(ArchiveParseError, match=r"card\.json is not valid JSON: .* line 1"):
        load(archive({"card.json": "{"}))


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../b", "C:/x", "c:x", "a\\b", "n" * 2000])
def test_unsafe_names_are_rejected(name):
    with pytest.raises(ArchiveParseError, match="unsafe name"):
        load(archive({"card.json": json.dumps(v3()), name: b"x"}))


def test_a_nul_in_a_name_is_rejected():
    data = archive({"card.json": json.dumps(v3()), "evilXname": b"x"}).replace(b"evilXname", b"evil\0name")
    with pytest.raises(ArchiveParseError, match="unsafe name"):
        load(data)


def test_encrypted_archives_are_rejected():
    data = bytearray(charx(v3()))
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1
    with pytest.raises(ArchiveParseError, match="encrypted"):
        load(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_is_rejected(method):
    with pytest.raises(ArchiveParseError, match="only deflate"):
        load(archive({"card.json": json.dumps(v3())}, compression=method))


def test_limits_on_archives():
    many = archive({"card.json": json.dumps(v3()), **{f"f{number}": b"" for number in range(9)}})
    with pytest.raises(ArchiveParseError, match="more than 9 files"):
        load(many, limits=CardLimits(archive_entries=9))
    with pytest.raises(ArchiveParseError, match="larger than the 10 bytes allowed"):
        load(charx(v3()), limits=CardLimits(archive_entry_bytes=10))
    bomb = charx(v3(), big=b"0" * 3_000_000)
    with pytest.raises(ArchiveParseError, match="more than 200 to 1"):
        load(bomb).asset("embeded://big").read()


def test_one_budget_for_all_reads():
    half = bytes(range(256)) * 16
    bundle = load(charx(v3(), a=half, b=half), limits=CardLimits(archive_total_bytes=len(half) + 2500))
    first, second = bundle.assets
    assert first.read() == first.read() == half
    with pytest.raises(ArchiveParseError, match="allowed"):
        second.read()


def test_a_lying_header_does_not_help():
    data = bytearray(archive({"card.json": b" " * 5000 + json.dumps(v3()).encode()}))
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 10)
    with pytest.raises((ParseError, InvalidCardError)):
        load(bytes(data), limits=CardLimits(archive_entry_bytes=1000))


@given(source=cards)
def test_writing_and_reading_an_archive_is_the_identity(source):
    card, _ = read_card(source)
    written_as_v3 = card.with_(spec="v3", spec_version=card.spec_version if card.spec == "v3" else "3.0")
    assert load(to_charx(card)).card == written_as_v3


def test_a_whole_charx_survives_a_rewrite():
    first = load(full_charx())
    written = to_charx(first.card, first.image, first.assets)
    second = load(written)
    assert second.card == first.card
    assert second.image == first.image
    assert [(a.name, a.read()) for a in second.assets] == [(a.name, a.read()) for a in first.assets]
    assert written == to_charx(second.card, second.image, second.assets)


def test_a_picture_becomes_the_main_icon():
    card, _ = read_card(v3(assets=[{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}]))
    bundle = load(to_charx(card, files.JPEG))
    assert bundle.image == files.JPEG
    [icon] = bundle.card.character.assets
    assert (icon.uri, icon.ext) == ("embeded://assets/icon/main.jpg", "jpg")


def test_a_png_card_becomes_an_archive_with_its_assets_and_without_the_old_card():
    joy = {"type": "emotion", "uri": "__asset:0", "name": "joy", "ext": "webp"}
    chunks = [
        text(f"chara-ext-asset_:{name}", base64.b64encode(data)) for name, data in (("0", b"joy"), ("../1", b"?"))
    ]
    source = load(png(*chunks, text("ccv3", packed(v3(assets=[joy])))))
    bundle = load(to_charx(source.card, source.image, source.assets))
    moved, icon = bundle.card.character.assets
    assert bundle.asset(moved.uri).read() == b"joy"
    assert moved.uri == "embeded://assets/emotion/0.webp"
    assert bundle.image == png()
    assert icon.name == "main"
    assert [asset.name for asset in bundle.assets] == ["assets/emotion/0.webp", "1", "assets/icon/main.png"]


def test_an_asset_from_memory():
    card, _ = read_card(v3(assets=[JOY]))
    bundle = load(to_charx(card, None, [Asset.of("assets/joy.png", b"joy"), Asset.of("card.json", b"x")]))
    assert bundle.card == card
    assert {asset.name: asset.read() for asset in bundle.assets} == {"assets/joy.png": b"joy", "_card.json": b"x"}


def test_names_in_an_archive_hide_nothing():
    hidden = "assets/joy\u202egpj.\u200bpng"
    card, _ = read_card(v3(assets=[{**JOY, "uri": f"embeded://{hidden}"}]))
    bundle = load(to_charx(card, None, [Asset.of(hidden, b"joy"), Asset.of("assets/joygpj.png", b"other")]))
    assert {asset.name: asset.read() for asset in bundle.assets} == {
        "assets/joygpj.png": b"joy",
        "_assets/joygpj.png": b"other",
    }
    assert bundle.asset(bundle.card.character.assets[0].uri).read() == b"joy"


def test_a_byaf_archive():
    bundle = load(byaf())
    character = bundle.card.character
    assert bundle.format == "byaf"
    assert character.name == "Ysolde"
    assert character.description == "{{char}} mends clocks for {{user}}. Macro: {{user}}."
    assert character.scenario == "A dusty shop."
    assert character.first_mes == "Tick, {{user}}."
    assert character.alternate_greetings == ("Up here!",)
    assert character.mes_example == "<START>\n{{user}}: Time?\n{{char}}: Late."
    assert character.system_prompt == "Speak as {{char}}."
    assert (character.creator, character.creator_notes) == ("me", "https://example.invalid/me")
    [entry] = character.character_book.entries
    assert (entry.keys, entry.content) == (("gear", "spring"), "{{char}} loves brass.")
    assert bundle.image == png()


def test_what_a_card_has_no_room_for_is_kept_from_a_byaf_archive():
    kept = load(byaf()).card.character.extensions["byaf"]
    assert kept["character"]["displayName"] == "Ysolde the Exact"
    assert kept["scenarios"][0]["temperature"] == 1.2
    assert kept["scenarios"][1]["narrative"] == "The roof."


def test_the_pictures_of_a_byaf_archive_are_assets_with_a_kind():
    character = {"name": "Ysolde", "images": [{"path": "images/a.png"}, {"path": "images/b.JPG", "label": "glad"}]}
    files = {
        "characters/c1/character.json": character,
        "characters/c1/images/b.JPG": b"glad",
        "scenarios/s1.json": {"backgroundImage": "scenarios/s1-background.jpg"},
        "scenarios/s2.json": {"title": "Roof", "backgroundImage": "s2-background.png"},
        "scenarios/s1-background.jpg": b"shop",
        "scenarios/s2-background.png": b"roof",
        "notes.txt": b"unlisted",
    }
    bundle = load(byaf(**files))
    references = bundle.card.character.assets
    assert [(asset.type, asset.name, asset.ext) for asset in references] == [
        ("icon", "main", "png"),
        ("icon", "glad", "jpg"),
        ("background", "main", "jpg"),
        ("background", "Roof", "png"),
    ]
    assert [bundle.asset(asset.uri).read() for asset in references] == [png(), b"glad", b"shop", b"roof"]
    assert [asset.name for asset in bundle.assets][4:] == ["notes.txt"]
    assert bundle.image == png()
    assert bundle.report.notes == ()


def test_a_background_is_not_the_picture_of_a_byaf_character():
    bundle = load(
        byaf(
            **{
                "characters/c1/character.json": {"name": "Ysolde", "images": [{"path": "images/gone.png"}]},
                "scenarios/s1.json": {"backgroundImage": "characters/c1/images/a.png"},
                "scenarios/s2.json": {"backgroundImage": "../../../etc/passwd"},
            }
        )
    )
    assert bundle.image is None
    assert [asset.type for asset in bundle.card.character.assets] == ["background"]
    [missing] = bundle.report.notes
    assert missing.path == "scenarios/s2.json.backgroundImage"


def test_the_limits_of_a_byaf_import_are_reported():
    report = load(
        byaf(
            **{
                "manifest.json": {
                    "characters": ["characters/c1/character.json", "characters/c2/character.json"],
                    "scenarios": ["scenarios/s1.json", "scenarios/gone.json"],
                }
            }
        )
    ).report
    assert [note.path for note in report.ignored] == [
        "manifest.characters",
        "scenarios/gone.json",
        "scenarios",
    ]
    assert report.ignored[-1].message.startswith("the archive has a chat")


@pytest.mark.parametrize(
    "changes",
    [
        {"manifest.json": {}},
        {"manifest.json": []},
        {"manifest.json": {"characters": []}},
        {"manifest.json": {"characters": ["gone.json"]}},
        {"characters/c1/character.json": 5},
    ],
)
def test_broken_byaf_archives(changes):
    with pytest.raises(ArchiveParseError):
        load(byaf(**changes))


def test_a_byaf_character_without_a_name():
    with pytest.raises(InvalidCardError, match="no name"):
        load(byaf(**{"characters/c1/character.json": {"persona": "x"}}))


def test_a_byaf_card_can_be_written_as_any_other():
    card = load(byaf()).card
    again, _ = read_card(write_card(card, "v3"))
    assert again == card


def test_an_archive_that_risuai_wrote():
    bundle = load(Path(__file__).parent / "risuai.charx")
    assert bundle.report.is_exact
    assert bundle.card.character.name == "Marlow Quill"
    assert [asset.name for asset in bundle.assets] == ["module.risum"]
    assert bundle.assets[0].read().startswith(b"o\0")
    assert load(to_charx(bundle.card, bundle.image, bundle.assets)).card == bundle.card
