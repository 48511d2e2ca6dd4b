"""Books in and out of files: nothing that was read is lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit.lore import read_book, write_character_book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.lorebooks.entry_fields import as_character_book, as_world_info, book_form, entry_forms
from tavernkit.playground.story.lorebooks.queries import all_entries
from tavernkit.playground.story.lorebooks.service import duplicate_entry, export_lorebook, import_lorebook
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of
from tests.strategies import json_values, texts

pytestmark = pytest.mark.anyio

WORLD: dict[str, Any] = {
    "entries": {
        "0": {"uid": 0, "key": ["fox"], "keysecondary": [], "comment": "Fox", "content": "Red.", "disable": True,
              "order": 7, "position": 4, "depth": 2, "theirs": {"deep": [1]}, "sticky": 3},
        "3": {"uid": 3, "key": ["/owl/i"], "content": "Grey \ud83e.", "constant": True, "extensions": {"x": 1}},
    },
    "name": "Wood",
    "scan_depth": 5,
    "somebody": "else",
}  # fmt: skip
CHARACTER_BOOK: dict[str, Any] = {
    "name": "Inn",
    "description": "An installation.",
    "extensions": {"mine": True},
    "odd": 1,
    "entries": [
        {"id": "a", "keys": ["beer"], "content": "Dark.", "enabled": True, "insertion_order": 3, "name": "Beer",
         "priority": 9, "extensions": {"depth": 2, "foreign": []}, "extra_field": None},
        {"keys": ["bed"], "content": "Short.", "enabled": False, "insertion_order": 1, "extensions": {}},
    ],
}  # fmt: skip
RISU = {
    "type": "risu",
    "ver": 1,
    "data": [{"key": "moon, star", "comment": "Sky", "content": "Far.", "insertorder": 9}],
}


async def imported(play: Story, document: Any, name: str = "") -> Any:
    outcome = await import_lorebook(
        play.runtime, Viewer(user_id=play.user_id), json.dumps(document).encode(), name=name
    )
    return outcome[0]


async def exported(play: Story, book: Any, *, character_book: bool = False) -> Any:
    outcome = await export_lorebook(play.runtime, Viewer(user_id=play.user_id), book.id, character_book=character_book)
    return outcome[1]


async def test_a_world_comes_back_as_it_was_read(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        book = await imported(play, WORLD)
        assert (book.name, book.entries_count) == ("Wood", 2)
        assert await exported(play, book) == WORLD
        assert await exported(play, book, character_book=True) == write_character_book(read_book(WORLD)[0])


TWICE: dict[str, Any] = {
    "entries": {
        "0": {"uid": 0, "key": ["fox"], "content": "Red."},
        "1": {"uid": 0, "key": ["owl"], "content": "Grey."},
        "2": {"uid": "two", "key": ["elk"], "content": "Brown."},
        "7": {"uid": 2, "key": ["hen"], "content": "White."},
        "n": {"key": ["cat"], "content": "Black."},
    }
}


async def test_a_world_with_uids_that_are_there_twice_comes_back_as_it_was_read(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        viewer = Viewer(user_id=play.user_id)
        book = await imported(play, TWICE, name="Wood")
        assert await exported(play, book) == TWICE
        assert await exported(play, book, character_book=True) == write_character_book(read_book(TWICE)[0])
        async with play.runtime.database.read() as session:
            rows = await all_entries(session, book.id)
        assert len({row.uid for row in rows}) == 5
        copy = await duplicate_entry(play.runtime, viewer, book.id, rows[1].id)
        again = await exported(play, book)
        assert {key: again["entries"][key] for key in TWICE["entries"]} == TWICE["entries"]
        (added,) = again["entries"].keys() - TWICE["entries"].keys()
        assert again["entries"][added]["content"] == "Grey."
        assert again["entries"][added]["uid"] == copy.uid


async def test_a_character_book_comes_back_as_it_was_read_and_becomes_a_world(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        book = await imported(play, {"spec": "lorebook_v3", "data": CHARACTER_BOOK})
        assert await exported(play, book, character_book=True) == CHARACTER_BOOK
        world = await exported(play, book)
        assert world["originalData"] == CHARACTER_BOOK
        assert [entry["content"] for entry in world["entries"].values()] == ["Dark.", "Short."]
        assert all("originalEntry" not in entry for entry in world["entries"].values())


async def test_a_book_of_another_application_is_read_and_written_as_a_world(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        book = await imported(play, RISU, name="Night sky")
        assert book.name == "Night sky"
        entry = (await exported(play, book))["entries"]["0"]
        assert (entry["key"], entry["content"], entry["order"]) == (["moon", "star"], "Far.", 9)


async def test_a_file_that_is_no_book_is_refused_with_a_sentence(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        for file in (b"", b"[]", b"{", b'{"spec": "chara_card_v2", "data": {}}'):
            outcome = await refusal_of(import_lorebook(play.runtime, Viewer(user_id=play.user_id), file))
            assert (outcome.code, outcome.sentence[-1]) == ("invalid", ".")


fields = st.dictionaries(st.sampled_from(["comment", "content", "key", "order", "depth", "role", "odd", "position"]),
                         json_values, max_size=5)  # fmt: skip


@given(
    st.dictionaries(st.integers(0, 10**6), st.tuples(st.integers(0, 3) | st.none(), fields), max_size=4),
    st.dictionaries(texts, json_values, max_size=2),
)
@settings(max_examples=60)
def test_whatever_a_world_holds_survives(entries: dict[int, Any], beside: dict[str, Any]) -> None:
    document = {
        **beside,
        "entries": {str(key): {"uid": key if uid is None else uid, **entry} for key, (uid, entry) in entries.items()},
    }
    book, report = read_book(document | {"name": "B"})
    forms = [form for _, form, _ in entry_forms(book)]
    if report.format == "world_info":
        assert as_world_info(book_form(book), forms) == document | {"name": "B"}


@given(st.lists(st.fixed_dictionaries({"keys": st.lists(texts, max_size=2), "content": texts, "enabled": st.booleans()},
                                      optional={"id": st.integers(0, 3) | texts, "name": texts, "odd": json_values,
                                                "extensions": st.dictionaries(texts, json_values, max_size=2)}),
                max_size=4))  # fmt: skip
@settings(max_examples=60)
def test_whatever_a_character_book_holds_survives(entries: list[Any]) -> None:
    document = {"entries": entries}
    book, _ = read_book({"data": {"character_book": document}})
    numbered = list(entry_forms(book))
    assert len({uid for uid, _, _ in numbered}) == len(entries)
    assert as_character_book(book_form(book), [form for _, form, _ in numbered]) == document
