"""How RisuAI takes in the lorebooks of others."""

from __future__ import annotations

from typing import Any

import pytest

from tavernkit import Book, Entry
from tavernkit.risuai.book_import import entries_from_book, import_entry, import_external, opened_entry


def imported(*secondary: str, **extensions: Any) -> dict[str, Any]:
    keys = {"secondary_keys": list(secondary), "selective": True} if secondary else {}
    return import_entry({"keys": ["reef", "shoal"], "content": "Rocks.", "extensions": extensions, **keys})


@pytest.mark.parametrize(
    ("extensions", "content", "left"),
    [
        ({"useProbability": True, "probability": 40}, "@@probability 40\nRocks.", {}),
        ({"useProbability": True, "probability": 100}, "Rocks.", {"useProbability": True, "probability": 100}),
        ({"useProbability": False, "probability": 40}, "Rocks.", {"useProbability": False, "probability": 40}),
        ({"position": 4, "depth": 2, "role": 1}, "@@depth 2\n@@role user\nRocks.", {}),
        ({"position": 4, "depth": 2}, "Rocks.", {"position": 4, "depth": 2}),
        ({"delay": 5}, "@@activate_only_after 5\nRocks.", {}),
        ({"delay": 0}, "Rocks.", {"delay": 0}),
        ({"match_whole_words": True}, "@@match_full_word\nRocks.", {}),
        ({"match_whole_words": False}, "@@match_partial_word\nRocks.", {}),
        ({"match_whole_words": None}, "Rocks.", {"match_whole_words": None}),
        ({"role": None, "position": 4, "depth": 2}, "Rocks.", {"role": None, "position": 4, "depth": 2}),
        (
            {"useProbability": True, "probability": 10, "position": 4, "depth": 1, "role": 2, "delay": 3},
            "@@activate_only_after 3\n@@depth 1\n@@role assistant\n@@probability 10\nRocks.",
            {},
        ),
    ],
)
def test_extensions_become_decorators(extensions: dict[str, Any], content: str, left: dict[str, Any]) -> None:
    entry = imported(**extensions)

    assert (entry["content"], entry["extentions"]) == (content, left)


@pytest.mark.parametrize(
    ("logic", "content", "selective"),
    [
        (0, "Rocks.", True),
        (1, "@@exclude_keys_all x,y\nRocks.", False),
        (2, "@@exclude_keys y\n@@exclude_keys x\nRocks.", False),
        (3, "@@additional_keys y\n@@additional_keys x\nRocks.", False),
    ],
)
def test_the_logic_of_secondary_keys_becomes_decorators(logic: int, content: str, selective: bool) -> None:
    entry = imported("x", "y", selectiveLogic=logic)

    assert (entry["content"], entry["selective"], entry["secondkey"]) == (content, selective, "x, y")


def test_what_is_null_stays_null_and_what_is_missing_stays_missing() -> None:
    entry = import_entry({"keys": [], "folder": None, "extensions": {"scan_depth": None, "risu_case_sensitive": True}})

    assert entry["folder"] is None
    assert entry["extentions"] == {"scan_depth": None}
    assert not {"insertorder", "activationPercent"} & entry.keys()


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"activationPercent": 40}, "@@probability 40\nRocks."),
        ({"activationPercent": 40, "bookVersion": 1}, "@@probability 40\nRocks."),
        ({"activationPercent": 40, "bookVersion": 2}, "Rocks."),
        ({"activationPercent": 0}, "Rocks."),
        ({}, "Rocks."),
    ],
)
def test_an_entry_of_an_older_book_gets_its_chance_as_a_decorator(fields: dict[str, Any], content: str) -> None:
    opened = opened_entry({"content": "Rocks.", **fields})

    assert opened["content"] == content
    assert opened_entry(opened) == opened


def test_keys_are_expressions_only_if_the_first_is_written_as_one() -> None:
    assert import_entry({"keys": ["/a/i"], "use_regex": True})["useRegex"] is True
    assert import_entry({"keys": ["a"], "use_regex": True})["useRegex"] is False


def test_files_of_other_applications_name_their_fields_differently() -> None:
    entries = {
        "10": {"keywords": ["q"], "text": "t", "contextConfig": {"budgetPriority": 9}, "displayName": "dn"},
        "2": {"key": ["a", "b"], "content": "c", "order": 5, "comment": "n", "constant": True},
    }

    first, second = import_external(entries)

    assert (first["key"], first["content"], first["insertorder"], first["alwaysActive"]) == ("a, b", "c", 5, True)
    assert (second["key"], second["content"], second["insertorder"], second["comment"]) == ("q", "t", 9, "dn")


def test_a_book_is_imported_with_the_entries_that_are_switched_off() -> None:
    book = Book(entries=(Entry(id="1", keys=("a", "b"), content="c", constant=True, enabled=False, comment="n"),))

    (entry,) = entries_from_book(book)

    assert (entry.key, entry.content, entry.always_active, entry.comment) == ("a, b", "c", True, "n")
