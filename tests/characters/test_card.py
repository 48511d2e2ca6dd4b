"""The card model: one shape for every version, and nothing lost on the way through it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tavernkit.characters import CardLimits, CharacterCard, read_card, to_json, write_card
from tavernkit.errors import InvalidCardError, UnsupportedVersionError
from tests.characters.card_files import v1, v2, v3
from tests.strategies import cards


def reread(card: CharacterCard, spec: Any) -> CharacterCard:
    again, _ = read_card(json.loads(to_json(card, spec)))
    return again.with_(spec=card.spec, spec_version=card.spec_version)


def holds(whole: Any, part: Any) -> bool:
    """True where everything in `part` is somewhere in the same place of `whole`."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(holds, whole, part))
    return bool(whole == part)


@pytest.mark.parametrize("spec", ["v2", "v3"])
@given(source=cards)
def test_reading_what_was_written_gives_the_same_card(spec, source):
    card, _ = read_card(source)
    assert reread(card, spec) == card


@pytest.mark.parametrize("spec", ["v2", "v3"])
@given(source=cards)
def test_every_field_of_the_source_is_still_there(spec, source):
    card, _ = read_card(source)
    written = write_card(card, spec)
    given_data = source.get("data", source)
    known = {key: value for key, value in given_data.items() if not key.startswith("x_")}
    unknown = {key: value for key, value in given_data.items() if key.startswith("x_")}
    nulls = {key for key, value in known.items() if value is None} if "data" not in source else set()
    assert holds(written["data"], {key: value for key, value in known.items() if key not in nulls})
    assert holds(written["data"] if "data" in source else written, unknown)
    assert holds(written, {key: value for key, value in source.items() if key.startswith("x_")})


def test_versions_one_two_and_three_give_the_same_character():
    fields = {"alternate_greetings": [], "tags": [], "creator": "", "creator_notes": "", "character_version": ""}
    two, _ = read_card({"spec": "chara_card_v2", "spec_version": "2.0", "data": {**v1(), **fields}})
    three, _ = read_card({"spec": "chara_card_v3", "spec_version": "3.0", "data": {**v1(), **fields}})
    one, _ = read_card(v1())
    assert one.character == two.character == three.character
    assert (one.spec, two.spec, three.spec) == ("v1", "v2", "v3")


def test_an_exact_card_gives_an_exact_report():
    _, report = read_card(v3())
    assert report.is_exact


def test_gradio_keys_are_read():
    source = {
        "char_name": "Gradio",
        "char_persona": "persona",
        "world_scenario": "world",
        "char_greeting": "hello",
        "example_dialogue": "example",
    }
    card, report = read_card(source)
    character = card.character
    assert (character.name, character.description, character.scenario) == ("Gradio", "persona", "world")
    assert (character.first_mes, character.mes_example) == ("hello", "example")
    assert [note.path for note in report.converted] == list(source)


def test_older_fields_of_flat_cards():
    card, _ = read_card(v1(creatorcomment="older", creator_notes="newer", tags="a, b,", talkativeness=0.5))
    assert card.character.creator_notes == "older"
    assert card.character.tags == ("a", "b")
    assert card.unknown == {"creator_notes": "newer", "talkativeness": 0.5}


def test_data_wins_over_the_top_level():
    source = {**v2(name="Inner", description="inner"), "name": "Outer", "description": "inner"}
    card, report = read_card(source)
    assert card.character.name == "Inner"
    assert card.mirrored == ("description",)
    assert card.unknown == {"name": "Outer"}
    assert [note.path for note in report.ignored] == ["name"]


def test_the_top_level_fills_what_data_lacks():
    card, report = read_card(
        {"spec": "chara_card_v2", "spec_version": "2.0", "name": "Top", "data": {"first_mes": "x"}}
    )
    assert card.character.name == "Top"
    assert [note.path for note in report.converted] == ["data.name"]


def test_mirrored_fields_follow_the_character():
    card, _ = read_card({**v2(), "name": "Ysolde", "creatorcomment": "Notes"})
    renamed = card.with_(character=card.character.with_(name="New", creator_notes="other"))
    written = write_card(renamed, "v2")
    assert (written["name"], written["creatorcomment"]) == ("New", "other")


def test_fields_of_version_three_survive_in_version_two():
    card, _ = read_card(v3(nickname="Yso", source=["a"], creation_date=5, group_only_greetings=["hi"]))
    written = write_card(card, "v2")
    assert written["spec"] == "chara_card_v2"
    assert written["data"]["nickname"] == "Yso"
    assert reread(card, "v2").character == card.character


def test_wrong_types_are_converted_or_ignored_with_a_note():
    card, report = read_card(
        v3(description=5, tags="a,b", alternate_greetings="only", creation_date="12", extensions=[], creator={"a": 1})
    )
    character = card.character
    assert (character.description, character.tags) == ("5", ("a", "b"))
    assert (character.alternate_greetings, character.creation_date) == (("only",), 12)
    assert (character.extensions, character.creator) == ({}, "")
    assert {note.path for note in report.converted} == {
        "data.description",
        "data.tags",
        "data.alternate_greetings",
        "data.creation_date",
    }
    assert {note.path for note in report.ignored} == {"data.extensions", "data.creator"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nickname", {"a": 1}),
        ("source", 7),
        ("assets", "none"),
        ("creation_date", "yesterday"),
        ("modification_date", True),
        ("character_book", [1]),
        ("creator_notes_multilingual", "hello"),
        ("nickname", None),
    ],
)
def test_an_unusable_optional_field_stays_in_the_file(field, value):
    card, report = read_card(v3(**{field: value}))
    assert write_card(card)["data"][field] == value
    assert [note.path for note in report.ignored] == ([] if value is None else [f"data.{field}"])
    assert reread(card, "v3") == card


def test_numbers_that_json_lacks_are_replaced_and_reported():
    source = json.loads('{"a": NaN, "b": [1e999, -Infinity]}')
    card, report = read_card(v3(extensions=source))
    assert card.character.extensions["a"] is None
    assert card.character.extensions["b"] == [1.7976931348623157e308, -1.7976931348623157e308]
    assert [note.path for note in report.converted] == [
        "data.extensions.a",
        "data.extensions.b[0]",
        "data.extensions.b[1]",
    ]
    assert reread(card, "v3") == card


def test_half_a_surrogate_pair_survives():
    card, _ = read_card(v3(description="\ud83d broken, \U0001f600 whole"))
    text = to_json(card)
    assert json.loads(text.encode("utf-8"))["data"]["description"] == "\ud83d broken, \U0001f600 whole"


def test_an_asset_keeps_its_unknown_fields():
    asset = {"type": "emotion", "uri": "embeded://a.png", "name": "joy", "ext": "png", "x": [1]}
    card, _ = read_card(v3(assets=[asset, 5]))
    assert write_card(card)["data"]["assets"] == [asset]


@pytest.mark.parametrize(
    "source",
    [
        {},
        v1(name=""),
        v1(name="  "),
        v2(name=None),
        v3(name=[]),
        {"spec": "chara_card_v2", "data": {}},
        b"[1]",
        b'"text"',
        b"null",
        {"entries": {}, "name": "World"},
        {"prompts": []},
    ],
)
def test_what_is_no_card_is_refused(source):
    with pytest.raises(InvalidCardError):
        read_card(source)


def test_the_refusal_says_which_field_is_missing():
    with pytest.raises(InvalidCardError, match=r"no name. Give the field data.name"):
        read_card(v2(name=""))


@pytest.mark.parametrize(
    "source",
    [
        {**v3(), "spec": "chara_card_v9"},
        {**v3(), "spec": "chara_card_v4"},
        {"spec": "chara_card_v9", "name": "x"},
        {"spec": "lorebook_v3", "name": "x"},
        {"spec": 7, "name": "x"},
    ],
)
def test_unknown_versions_are_refused(source):
    with pytest.raises(UnsupportedVersionError):
        read_card(source)


def test_an_unknown_name_with_usable_data_is_read():
    card, report = read_card({**v2(), "spec": "my_card"})
    assert card.spec == "v2"
    assert [note.path for note in report.converted] == ["spec"]


def test_a_newer_minor_version_is_read_with_a_note_and_kept():
    card, report = read_card({**v3(), "spec_version": "3.1"})
    assert [note.path for note in report.converted] == ["spec_version"]
    assert write_card(card, "v3")["spec_version"] == "3.1"
    assert write_card(card, "v2")["spec_version"] == "2.0"


def test_a_spec_without_data_is_read_as_a_flat_card():
    card, report = read_card({**v1(), "spec": "chara_card_v2", "spec_version": "2.0"})
    assert card.spec == "v1"
    assert [note.path for note in report.converted] == ["spec"]


def test_data_without_a_spec_is_read():
    card, _ = read_card({"data": v1()})
    assert card.spec == "v2"


def test_too_many_entries_or_assets_are_refused():
    with pytest.raises(InvalidCardError, match="entries"):
        read_card(v3(character_book={"entries": [{}] * 4}), limits=CardLimits(book_entries=3))
    with pytest.raises(InvalidCardError, match="assets"):
        read_card(v3(assets=[{}] * 4), limits=CardLimits(assets=3))


def test_what_json_cannot_express_is_refused_when_writing():
    card, _ = read_card(v3())
    broken = card.with_(character=card.character.with_(extensions={"when": object()}))
    with pytest.raises(InvalidCardError):
        to_json(broken)


def test_nesting_without_end_is_refused():
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidCardError, match="nested"):
        read_card(v3(extensions={"deep": deep}))


def test_a_nickname_is_what_the_character_is_called():
    card, _ = read_card(v3(nickname="Yso"))
    assert card.character.display_name == "Yso"
    assert card.with_(character=card.character.with_(nickname="")).character.display_name == "Ysolde"


def test_greetings_are_counted_from_the_first_message():
    card, _ = read_card(v3())
    assert card.character.greetings == ("Tick.", "Tock.")


def test_half_a_surrogate_pair_in_the_name_of_an_extension_is_kept():
    half = {"\ud800": 1}
    entry = {"keys": ["sea"], "content": "Salt.", "extensions": half}
    card, report = read_card(v3(extensions={**half, "depth_prompt": half}, character_book={"entries": [entry]}))
    assert card.character.extensions == {**half, "depth_prompt": half}
    assert card.character.character_book.entries[0].extensions == half
    assert not report.broken
