from typing import Any

import pytest
from hypothesis import given
from tests.lore.files.strategies import character_books

from tavernkit.errors import LoreParseError
from tavernkit.lore.book import Book, Entry
from tavernkit.lore.files.character_book import MAX_ENTRIES, read_character_book, write_character_book
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder


def read(source: dict[str, Any]) -> tuple[Book, ImportReport]:
    report = ReportBuilder()
    return read_character_book(LooseObject(source, report)), report.build("character_book")


RICH: dict[str, Any] = {
    "name": "Shop lore",
    "description": "About the shop",
    "scan_depth": 3,
    "token_budget": 500,
    "recursive_scanning": True,
    "extensions": {"bx": 1},
    "vendor": {"kept": True},
    "entries": [
        {
            "id": 7,
            "keys": ["gear", "/spring/i"],
            "secondary_keys": ["brass"],
            "comment": "Gears",
            "content": "Gears are brass.",
            "constant": False,
            "selective": True,
            "insertion_order": 10,
            "enabled": True,
            "position": "before_char",
            "use_regex": True,
            "case_sensitive": True,
            "priority": 5,
            "name": "gear entry",
            "extensions": {"position": 4, "depth": 3, "selectiveLogic": 3},
            "mode": "normal",
        }
    ],
}


def test_every_field_is_read_into_its_type() -> None:
    book, report = read(RICH)
    entry = book.entries[0]
    assert (book.name, book.scan_depth, book.token_budget, book.recursive_scanning) == ("Shop lore", 3, 500, True)
    assert book.unknown == {"vendor": {"kept": True}}
    assert (entry.id, entry.keys, entry.secondary_keys) == ("7", ("gear", "/spring/i"), ("brass",))
    assert (entry.insertion_order, entry.priority, entry.case_sensitive, entry.use_regex) == (10, 5, True, True)
    assert entry.extensions == {"position": 4, "depth": 3, "selectiveLogic": 3}
    assert entry.unknown == {"mode": "normal"}
    assert report.is_exact


def test_a_book_is_written_back_as_it_came() -> None:
    assert write_character_book(read(RICH)[0]) == RICH


@pytest.mark.parametrize(
    "entry",
    [
        {"keys": ["a"], "content": "c"},
        {"id": "7", "keys": ["a"]},
        {"id": None, "keys": "one text", "content": ["two", "lines"]},
        {"id": 1.5, "enabled": 0, "insertion_order": "12", "extensions": None},
        {"comment": "", "constant": False, "selective": False, "name": None, "case_sensitive": None},
        {"id": True, "position": 0, "priority": None},
        {},
    ],
)
def test_the_spelling_of_a_field_survives_whatever_it_was(entry: dict[str, Any]) -> None:
    book, _ = read({"entries": [entry]})
    assert write_character_book(book) == {"entries": [entry]}


@given(character_books)
def test_reading_and_writing_is_the_identity(source: dict[str, Any]) -> None:
    book, _ = read(source)
    written = write_character_book(book)
    assert written == source
    assert read(written)[0] == book


def test_ids_may_be_missing_or_be_keys_of_an_object() -> None:
    by_place, _ = read({"entries": [{"keys": ["a"]}, {"keys": ["b"]}]})
    by_key, _ = read({"entries": {"10": {"keys": ["b"]}, "x": {"keys": ["c"]}, "9": {"keys": ["a"]}}})
    assert [entry.id for entry in by_place.entries] == ["0", "1"]
    assert [(entry.id, entry.keys) for entry in by_key.entries] == [("9", ("a",)), ("10", ("b",)), ("x", ("c",))]


def test_an_entry_keeps_its_id_when_another_one_is_removed() -> None:
    book, _ = read({"entries": [{"keys": ["a"]}, {"keys": ["b"]}]})
    assert write_character_book(book.with_(entries=book.entries[1:]))["entries"] == [{"id": 1, "keys": ["b"]}]


def test_only_what_was_changed_is_written_anew() -> None:
    book, _ = read({"entries": [{"id": "3", "keys": "a", "content": "old", "insertion_order": "5"}]})
    changed = book.with_(name="New", entries=(book.entries[0].with_(content="new", constant=True),))
    assert write_character_book(changed) == {
        "name": "New",
        "entries": [{"id": "3", "keys": "a", "content": "new", "insertion_order": "5", "constant": True}],
    }


def test_a_book_made_in_code_has_all_that_the_specification_demands() -> None:
    book = Book(name="B", entries=(Entry(id="4", keys=("k",), content="c", case_sensitive=False),))
    entry = {
        "id": 4,
        "keys": ["k"],
        "content": "c",
        "extensions": {},
        "enabled": True,
        "insertion_order": 100,
        "case_sensitive": False,
    }
    assert write_character_book(book, spec="v2") == {"name": "B", "extensions": {}, "entries": [entry]}
    assert write_character_book(book)["entries"] == [entry | {"use_regex": False}]


def test_one_bad_entry_is_left_out_with_a_note() -> None:
    book, report = read({"entries": [{"keys": ["a"]}, 5, {"keys": ["b"]}]})
    assert [entry.keys for entry in book.entries] == [("a",), ("b",)]
    assert [(note.path, note.outcome) for note in report.notes] == [("entries[1]", "ignored")]


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(LoreParseError, match="50,001 entries"):
        read({"entries": [{}] * (MAX_ENTRIES + 1)})
