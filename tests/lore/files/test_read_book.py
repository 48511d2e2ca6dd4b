import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lore.files.strategies import character_books, values, world_books

from tavernkit.errors import LoreParseError
from tavernkit.lore.files.character_book import write_character_book
from tavernkit.lore.files.detect import read_book
from tavernkit.lore.files.world_info import write_world_info

NOVELAI: dict[str, Any] = {
    "lorebookVersion": 5,
    "settings": {"orderByKeyLocations": False},
    "entries": [
        {
            "id": "6f1e",
            "text": "The tower leans.",
            "displayName": "Tower",
            "keys": ["tower", "/lean(s|ing)/"],
            "contextConfig": {"budgetPriority": 400, "tokenBudget": 2048},
            "enabled": True,
            "forceActivation": True,
            "searchRange": 1000,
        }
    ],
}
AGNAI: dict[str, Any] = {
    "kind": "memory",
    "name": "Coast",
    "description": "Places",
    "_id": "abc",
    "entries": [
        {"name": "Reef", "entry": "Sharp.", "keywords": ["reef", "shoal"], "priority": 3, "weight": 7, "enabled": False}
    ],
}
RISUAI: dict[str, Any] = {
    "type": "risu",
    "ver": 1,
    "data": [
        {
            "key": "tide, moon ,",
            "secondkey": "night",
            "comment": "Tides",
            "content": "@@depth 2\nTides obey.",
            "mode": "normal",
            "insertorder": 10,
            "alwaysActive": False,
            "selective": True,
            "activationPercent": 40,
            "extentions": {"risu_case_sensitive": True},
        },
        {"key": "/a{1,2}/", "useRegex": True, "content": "x", "insertorder": 1},
        {"key": "folder-id", "mode": "folder", "comment": "A folder"},
    ],
}
BOOK: dict[str, Any] = {"entries": [{"keys": ["a"], "content": "c", "enabled": True, "insertion_order": 1}]}
WORLD: dict[str, Any] = {"entries": {"0": {"uid": 0, "key": ["a"], "content": "c"}}}


def test_novelai() -> None:
    book, report = read_book(json.dumps(NOVELAI))
    (entry,) = book.entries
    assert report.format == "novelai"
    assert (entry.keys, entry.content, entry.comment) == (("tower", "/lean(s|ing)/"), "The tower leans.", "Tower")
    assert (entry.insertion_order, entry.enabled, entry.constant, entry.use_regex) == (400, True, True, True)
    assert entry.extensions["novelai"]["contextConfig"] == {"budgetPriority": 400, "tokenBudget": 2048}
    assert entry.extensions["novelai"]["id"] == "6f1e"
    assert book.extensions["novelai"]["settings"] == {"orderByKeyLocations": False}


def test_agnai() -> None:
    book, report = read_book(AGNAI)
    (entry,) = book.entries
    assert report.format == "agnai"
    assert (book.name, book.description, book.extensions["agnai"]["_id"]) == ("Coast", "Places", "abc")
    assert (entry.keys, entry.content, entry.name) == (("reef", "shoal"), "Sharp.", "Reef")
    assert (entry.insertion_order, entry.priority, entry.enabled) == (7, 3, False)


def test_risuai() -> None:
    book, report = read_book(RISUAI)
    tides, pattern, folder = book.entries
    assert report.format == "risuai"
    assert (tides.keys, tides.secondary_keys, tides.selective) == (("tide", "moon"), ("night",), True)
    assert (tides.content, tides.insertion_order, tides.case_sensitive) == ("@@depth 2\nTides obey.", 10, True)
    assert (tides.extensions["probability"], tides.extensions["useProbability"]) == (40, True)
    assert (pattern.keys, pattern.use_regex) == (("/a{1,2}/",), True)
    assert not folder.enabled
    assert [note.path for note in report.converted] == ["data[2]"]


@pytest.mark.parametrize("source", [NOVELAI, AGNAI, RISUAI], ids=["novelai", "agnai", "risuai"])
def test_a_foreign_book_keeps_its_leftovers_in_every_form(source: dict[str, Any]) -> None:
    book, _ = read_book(source)
    as_card = read_book(write_character_book(book))[0]
    as_world = read_book(write_world_info(book))[0]
    for again in (as_card, as_world):
        assert again.extensions == book.extensions
        for before, after in zip(book.entries, again.entries, strict=True):
            assert after.content == before.content
            assert after.keys == before.keys
            assert before.extensions.items() <= after.extensions.items()


@pytest.mark.parametrize(
    ("source", "format"),
    [
        (BOOK, "character_book"),
        ({"spec": "lorebook_v3", "data": BOOK}, "character_book"),
        (WORLD, "world_info"),
        ({"entries": [{"uid": 0, "key": ["a"], "content": "c"}]}, "world_info"),
        ({"entries": {}}, "world_info"),
        ({"entries": []}, "character_book"),
        ({"entries": NOVELAI["entries"]}, "novelai"),
        ({"entries": AGNAI["entries"]}, "agnai"),
        ({"spec": "chara_card_v2", "data": {"name": "N", "character_book": BOOK}}, "card"),
        ({"name": "N", "character_book": BOOK}, "card"),
    ],
)
def test_the_format_is_seen_from_the_content(source: dict[str, Any], format: str) -> None:
    assert read_book(source)[1].format == format
    assert read_book(json.dumps(source).encode())[1].format == format


def test_the_book_of_a_card_is_taken_and_the_report_says_so() -> None:
    book, report = read_book({"spec": "chara_card_v3", "data": {"name": "N", "character_book": BOOK}})
    assert book.entries[0].keys == ("a",)
    assert [note.message for note in report.ignored] == ["a character card; only its character_book was read"]


def test_ids_that_are_used_twice_are_noted() -> None:
    report = read_book({"entries": [{"id": 1, "keys": ["a"]}, {"id": 1, "keys": ["b"]}]})[1]
    assert "2 entries share the id '1'" in report.notes[0].message


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"\x00\x01", "binary"),
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        ('{"a": 1}', "no entries"),
        ('{"entries": 5}', "no entries"),
        ('{"spec": "chara_card_v2", "data": {"name": "N"}}', "without a lorebook"),
        ("[" * 500 + "]" * 500, "deep"),
    ],
)
def test_what_is_no_lorebook_is_refused_with_a_reason(source: str | bytes, reason: str) -> None:
    with pytest.raises(LoreParseError, match=reason):
        read_book(source)


@given(
    st.dictionaries(
        st.sampled_from(["entries", "data", "type", "spec", "kind", "character_book", "lorebookVersion"]), values
    )
    | character_books
    | world_books
    | st.builds(lambda entries: {"type": "risu", "data": entries}, values)
    | st.builds(
        lambda entries: {"lorebookVersion": 1, "entries": entries},
        st.lists(st.dictionaries(st.sampled_from(["keys", "text", "contextConfig", "displayName", "enabled"]), values)),
    )
    | values.map(lambda value: {"entries": value})
)
def test_whatever_a_file_holds_it_is_read_or_refused(source: dict[str, Any]) -> None:
    try:
        book, _ = read_book(json.dumps(source))
    except LoreParseError:
        return
    json.dumps(write_character_book(book))
    json.dumps(write_world_info(book))


@given(st.binary(max_size=200))
def test_bytes_are_read_or_refused(source: bytes) -> None:
    try:
        read_book(source)
    except LoreParseError:
        return
