from typing import Any

from hypothesis import given
from tests.lore.files.strategies import character_books, world_books

from tavernkit.lore.book import Book, Entry
from tavernkit.lore.files.character_book import read_character_book, write_character_book
from tavernkit.lore.files.world_info import read_world_info, write_world_info
from tavernkit.reading import LooseObject, ReportBuilder


def read(source: dict[str, Any]) -> Book:
    return read_world_info(LooseObject(source, ReportBuilder()))


def from_card(source: dict[str, Any]) -> Book:
    return read_character_book(LooseObject(source, ReportBuilder()))


WORLD: dict[str, Any] = {
    "name": "Harbour",
    "extensions": {"tool": 1},
    "originalData": {"entries": []},
    "entries": {
        "3": {
            "uid": 3,
            "key": ["reef"],
            "keysecondary": ["night"],
            "comment": "The reef",
            "content": "Sharp rocks.",
            "constant": False,
            "selective": True,
            "selectiveLogic": 2,
            "addMemo": False,
            "order": 42,
            "position": 4,
            "depth": 2,
            "role": 1,
            "disable": True,
            "probability": None,
            "useGroupScoring": None,
            "delayUntilRecursion": 2,
            "displayIndex": 9,
            "characterFilter": {"isExclude": True, "names": ["Mira"], "tags": []},
            "extensions": {"mine": [1]},
            "vendor": "kept",
        }
    },
}


def test_a_world_entry_becomes_an_entry_with_the_extensions_of_a_card() -> None:
    entry = read(WORLD).entries[0]
    assert (entry.id, entry.keys, entry.secondary_keys) == ("3", ("reef",), ("night",))
    assert (entry.enabled, entry.insertion_order, entry.position, entry.use_regex) == (False, 42, "after_char", True)
    assert entry.extensions["position"] == 4
    assert entry.extensions["selectiveLogic"] == 2
    assert entry.extensions["delay_until_recursion"] == 2
    assert entry.extensions["mine"] == [1]
    assert entry.unknown["characterFilter"] == {"isExclude": True, "names": ["Mira"], "tags": []}


def test_a_world_file_keeps_every_field() -> None:
    assert write_world_info(read(WORLD)) == WORLD


@given(world_books)
def test_export_then_import_keeps_everything(source: dict[str, Any]) -> None:
    book = read(source)
    written = write_world_info(book)
    assert written.keys() == source.keys()
    for before, after in zip(source["entries"].values(), written["entries"].values(), strict=True):
        assert after == {"uid": after["uid"], **before}
    # Entries come in the order of their keys, and where two share a uid, one moves to another key.
    again, once = (
        sorted(repr(entry.with_(id="", spelling=None)) for entry in one.entries) for one in (read(written), book)
    )
    assert again == once


def test_entries_may_stand_in_a_list() -> None:
    entries = list(WORLD["entries"].values())
    assert write_world_info(read({"entries": entries})) == {"entries": WORLD["entries"]}


def test_entries_that_share_a_uid_are_all_kept() -> None:
    book = read({"entries": {"0": {"uid": 1, "key": ["a"]}, "1": {"uid": 1, "key": ["b"]}}})
    assert [entry["key"] for entry in write_world_info(book)["entries"].values()] == [["a"], ["b"]]


def test_entries_that_share_a_uid_are_written_back_under_the_keys_of_the_file() -> None:
    source = {
        "entries": {
            "0": {"uid": 0, "key": ["a"], "content": "A"},
            "1": {"uid": 0, "key": ["b"], "content": "B"},
            "5": {"uid": 1, "key": ["c"], "content": "C"},
        }
    }
    book = read_world_info(LooseObject(source, ReportBuilder()))
    assert write_world_info(book) == source
    changed = book.with_(entries=(*book.entries, book.entries[1], book.entries[0].with_(id="7")))
    assert list(write_world_info(changed)["entries"]) == ["0", "1", "5", "6", "7"]


def test_a_changed_entry_is_changed_in_the_file_and_nothing_else() -> None:
    book = read(WORLD)
    entry = book.entries[0].with_(content="Soft sand.", enabled=True)
    before = WORLD["entries"]["3"]
    assert write_world_info(book.with_(entries=(entry,)))["entries"]["3"] == before | {
        "content": "Soft sand.",
        "disable": False,
    }


def test_what_a_card_cannot_hold_stays_out_of_it_as_in_sillytavern() -> None:
    written = write_character_book(read(WORLD))
    assert "originalData" not in written
    assert written["entries"][0].keys().isdisjoint({"addMemo", "characterFilter"})
    assert written["entries"][0]["vendor"] == "kept"


@given(character_books)
def test_the_book_of_a_card_is_whole_inside_the_world_file(source: dict[str, Any]) -> None:
    assert write_world_info(from_card(source))["originalData"] == source


def test_of_two_entries_of_a_card_with_one_id_the_later_stands() -> None:
    book = from_card({"entries": [{"id": 1, "keys": ["a"]}, {"id": 1, "keys": ["b"]}]})
    assert {key: entry["key"] for key, entry in write_world_info(book)["entries"].items()} == {"1": ["b"]}


def test_a_book_made_in_code_becomes_a_world_file_and_comes_back() -> None:
    entry = Entry(id="0", keys=("k",), content="c", comment="memo", position="before_char", unknown={"extra": 1})
    written = write_world_info(Book(name="B", entries=(entry,)))
    assert written["name"] == "B"
    assert written["entries"]["0"]["addMemo"] is True
    assert written["entries"]["0"]["position"] == 0
    again = read(written).entries[0]
    assert (again.keys, again.content, again.comment, again.unknown["extra"]) == (("k",), "c", "memo", 1)
