"""Lorebooks of a folder."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Lorebook
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.lorebooks.documents import LinkPlace, NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook, lorebooks_at
from tavernkit.playground.story.lorebooks.queries import entries_page
from tavernkit.playground.story.lorebooks.service import update_entry
from tavernkit.playground.story.migration.lorebooks import world_bytes
from tests.playground.characters.builders import brought, json_card
from tests.playground.migration.folder import opened_import
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

UNKNOWN = {"extensions": {"future": [1]}, "not_in_the_format": {"a": None}}


def world(*contents: str, **fields: Any) -> dict[str, Any]:
    entries = {
        str(uid): {"uid": uid, "key": ["k"], "content": content, "characterFilter": None, "laterField": uid}
        for uid, content in enumerate(contents)
    }
    return {"entries": entries, **fields}


async def written(play: Story, lorebook_id: UUID | None) -> Any:
    assert lorebook_id is not None
    async with play.runtime.database.read() as session:
        return json.loads(await world_bytes(play.runtime, session, lorebook_id))


async def test_a_book_is_called_as_its_file_is_and_its_entries_are_exact(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        file = world("Trees.", "Owls.", name="Another name", **UNKNOWN)
        moving.folder.write("worlds/The Wood.json", file)
        ((_, outcome),) = (await moving.run()).items()
        async with play.runtime.database.read() as session:
            row = await session.get_one(Lorebook, outcome.target_id)
            assert (outcome.verdict, row.name, row.entries_count) == ("exact", "The Wood", 2)
        assert await written(play, outcome.target_id) == file


async def test_v03_unknown_fields_of_a_book_survive_an_edit_and_the_export(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        file = world("Trees.", **UNKNOWN)
        moving.folder.write("worlds/Wood.json", file)
        ((_, outcome),) = (await moving.run()).items()
        assert outcome.target_id is not None
        async with play.runtime.database.read() as session:
            (entry,) = await entries_page(session, outcome.target_id, behind=None, limit=9)
        await update_entry(
            play.runtime, play.viewer, outcome.target_id, entry.id, revision=1, data={"content": "Firs."}
        )
        after = await written(play, outcome.target_id)
        assert after["entries"]["0"] == {**file["entries"]["0"], "content": "Firs."}
        assert {key: after[key] for key in UNKNOWN} == UNKNOWN
        assert not await moving.is_unchanged("worlds/Wood.json")


async def test_v17_a_changed_book_is_replaced_and_stays_where_it_is_used(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("worlds/Wood.json", world("Trees."))
        ((_, first),) = (await moving.run()).items()
        assert first.target_id is not None
        everywhere = NewLink(lorebook_id=first.target_id, user_id=play.user_id)
        await attach_lorebook(play.runtime, play.viewer, everywhere)
        assert await moving.is_unchanged("worlds/Wood.json")
        changed = world("Trees.", "Owls.")
        moving.folder.write("worlds/Wood.json", changed)
        ((_, second),) = (await moving.run()).items()
        assert second.target_id == first.target_id
        assert await written(play, first.target_id) == changed
        assert len(await lorebooks_at(play.runtime, play.viewer, LinkPlace(user_id=play.user_id))) == 1
        async with play.runtime.database.read() as session:
            assert len((await session.scalars(select(Lorebook).where(Lorebook.name == "Wood"))).all()) == 1


async def test_a_card_that_came_alone_is_linked_with_the_book_that_it_names(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        row = (await brought(play, json_card(extensions={"world": "Wood"}))).character
        moving = await opened_import(play, tmp_path)
        moving.folder.write("worlds/Wood.json", world("Trees."))
        moving.folder.write("worlds/Sea.json", world("Waves."))
        outcomes = await moving.run()
        links = await lorebooks_at(play.runtime, play.viewer, LinkPlace(character_id=row.id))
        assert [link.lorebook_id for link, _ in links] == [outcomes["worlds/Wood.json"].target_id]


async def test_a_file_that_is_no_book_is_refused_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("worlds/Broken.json", b'{"entries": {"0": ')
        moving.folder.write("worlds/Empty.json", b"")
        outcomes = await moving.run()
        assert {outcome.verdict for outcome in outcomes.values()} == {"refused"}
        assert all(outcome.notes[0].endswith(".") for outcome in outcomes.values())
