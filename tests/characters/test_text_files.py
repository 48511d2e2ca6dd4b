"""JSON and YAML files, and telling files apart by what is in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tavernkit.characters import CardLimits, load, read_card, to_json
from tavernkit.errors import InvalidCardError, ParseError
from tests.characters import card_files as files
from tests.characters.card_files import byaf, charx, packed, png, text, v1, v3
from tests.strategies import cards


@pytest.mark.parametrize(
    "encoded",
    [
        json.dumps(v3()).encode(),
        b"\xef\xbb\xbf" + json.dumps(v3()).encode(),
        ("\ufeff" + json.dumps(v3())).encode("utf-16-le"),
        b"\n\t " + json.dumps(v3(), indent=4).encode(),
    ],
)
def test_json_files(encoded):
    bundle = load(encoded)
    assert (bundle.format, bundle.card.spec, bundle.image) == ("json", "v3", None)
    assert bundle.report.is_exact


@pytest.mark.parametrize("spec", ["v2", "v3"])
@given(source=cards)
def test_writing_and_reading_a_json_file_is_the_identity(spec, source):
    card, _ = read_card(source)
    again = load(to_json(card, spec).encode()).card
    assert again.with_(spec=card.spec, spec_version=card.spec_version) == card


def test_bytes_that_are_not_utf8_are_reported():
    bundle = load(b'{"name": "Caf\xe9", "description": ""}')
    assert bundle.card.character.name == "Caf\ufffd"
    assert not bundle.report.is_exact


def test_broken_json_says_where():
    with pytest.raises(ParseError, match=r"not valid JSON: .* line 2, column 1"):
        load(b'{"name": "x",\n')


def test_a_list_is_no_card():
    with pytest.raises(InvalidCardError, match="this is a list"):
        load(b"[1, 2]")


def test_a_character_of_text_generation_webui():
    source = "name: Ysolde\ngreeting: |-\n  Tick.\n  Tock.\ncontext: Mends clocks.\nexample_dialogue: hi\n"
    bundle = load(source.encode())
    character = bundle.card.character
    assert bundle.format == "yaml"
    assert (character.name, character.description, character.first_mes) == ("Ysolde", "Mends clocks.", "Tick.\nTock.")
    assert character.mes_example == ""
    assert bundle.card.unknown == {"example_dialogue": "hi"}
    assert [note.path for note in bundle.report.ignored] == ["example_dialogue"]


def test_a_card_written_as_yaml():
    source = """
spec: chara_card_v3
spec_version: '3.0'
data:
  name: No
  creation_date: 12
  extensions: {a: [true, ~, 1.5, "7", yes, 0x1F, 2024-01-01]}
  3: three
"""
    card = load(source.encode()).card
    assert card.character.name == "No"
    assert card.character.creation_date == 12
    assert card.character.extensions == {"a": [True, None, 1.5, "7", "yes", "0x1F", "2024-01-01"]}
    assert card.character.unknown == {"3": "three"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a: &x [1]\nb: *x\n", "uses a reference"),
        ("name: " + "[" * 100 + "]" * 100, "nested more than"),
        ("name: [" + "1," * 30_000 + "]", "more than 20,000 values"),
        ("name: x\n" + "# filler\n" * 200_000, "at most 1,048,576 are read"),
        ("name: [1", "or valid YAML"),
        ("? [a]\n: b\n", "as the name of a field"),
        ('name: "\\UFFFFFFFF"', "or valid YAML"),
        ("hello there", "looks like plain text"),
        ("- a\n- b", "looks like plain text"),
    ],
)
def test_yaml_that_is_refused(source, message):
    with pytest.raises(ParseError, match=message):
        load(source.encode())


WORKFLOW = """
name: Build
on: [push]
jobs:
  test: {runs-on: ubuntu-latest, steps: [{run: make test}]}
"""

ACTION = """
name: Set up
description: Installs what the build needs.
inputs: {version: {description: Which one}}
runs: {using: node20, main: index.js}
"""


@pytest.mark.parametrize(
    "source",
    [
        WORKFLOW,
        json.dumps({"name": "Build", "on": ["push"], "jobs": {}}),
        json.dumps({"name": "ChatML", "system_prompt": "Hm.", "input_sequence": "<"}),
        json.dumps({"name": "Lore", "description": "About.", "entries": {"0": {"uid": 0, "content": "x"}}}),
        json.dumps({"char_name": "Nobody"}),
        ACTION,
        json.dumps({"name": "left-pad", "version": "1.3.0", "description": "Pads.", "main": "index.js"}),
    ],
)
def test_a_file_with_a_name_and_no_other_field_of_a_card_is_no_card(source):
    with pytest.raises(InvalidCardError, match="This is not a character card"):
        load(source.encode())


def test_a_name_and_a_description_alone_are_a_card():
    for source in (
        b"name: Ysolde\ndescription: Mends clocks.\n",
        b'{"name": "Ysolde", "description": "", "fav": true}',
    ):
        assert load(source).card.character.name == "Ysolde"


def test_tags_make_no_objects():
    card = load(b"name: !!python/object/apply:os.getcwd x\ndescription: y\n").card
    assert card.character.name == "x"


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (png(text("chara", packed(v3()))), "png"),
        (files.JPEG + charx(v3()), "jpeg"),
        (charx(v3()), "charx"),
        (byaf(), "byaf"),
        (json.dumps(v1()).encode(), "json"),
        (b"name: x\ndescription: y", "yaml"),
    ],
)
def test_the_content_decides_and_not_the_name(data, format, tmp_path):
    path = tmp_path / "card.txt"
    path.write_bytes(data)
    assert load(path).format == load(str(path)).format == load(data).format == format


@pytest.mark.parametrize(
    ("data", "looks_like"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"GIF89a", "a GIF picture"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "a WebP picture"),
        (b"%PDF-1.7", "a PDF document"),
        (b"<!doctype html>", "a web page"),
        (b"\0\1\2\3\4\5", "binary"),
    ],
)
def test_other_files_are_named(data, looks_like):
    with pytest.raises(ParseError, match=looks_like):
        load(data)


def test_a_large_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(ParseError, match=r"10,737,418,240 bytes or more; at most 67,108,864"):
        load(path)
    with pytest.raises(ParseError, match="at most 10 are read"):
        load(b" " * 11, limits=CardLimits(file_bytes=10))


def test_a_missing_file_is_the_file_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "gone.png")
