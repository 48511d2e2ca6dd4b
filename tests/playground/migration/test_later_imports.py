"""What a later import of the same folder does with what an earlier one has left, and what both say about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import CharacterAsset
from tavernkit.playground.story.characters.assets import NewPicture, add_pictures
from tavernkit.playground.story.characters.service import create_character, edit_character
from tavernkit.playground.story.migration.queries import item_totals
from tavernkit.playground.story.migration.registry import handler_of
from tests.playground.characters.builders import picture, png_card
from tests.playground.migration.exported import export
from tests.playground.migration.folder_chats import lines as jsonl
from tests.playground.migration.folder_chats import said
from tests.playground.migration.support import chat, imported, imported_files, lines, migrating, scanned, write_folder
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio


async def emotions(story: Story, path: str) -> list[str]:
    """The emotions of the character that a card became."""
    files = await imported_files(story)
    async with story.runtime.database.read() as session:
        of_character = CharacterAsset.character_id == files[path].target_id
        return list(
            await session.scalars(select(CharacterAsset.name).where(of_character).order_by(CharacterAsset.name))
        )


async def test_an_emotion_made_here_comes_back_once_and_is_exported_once(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path / "own") as story, migrating(story.runtime, handlers=handler_of):
        runtime, viewer = story.runtime, story.viewer
        anna = await create_character(runtime, viewer, {"name": "Anna", "first_mes": "Hm?"})
        faces = [NewPicture(filename="joy.png", data=picture(colour)) for colour in ("yellow", "gold")]
        await add_pictures(runtime, viewer, anna.id, faces, kind="emotion")
        first = await export(story, tmp_path / "out", character_ids=(anna.id,))
        await imported(story, tmp_path / "out")
        assert await emotions(story, "characters/Anna.png") == ["joy", "joy (2)"]
        again = (await imported_files(story))["characters/Anna.png"].target_id
        assert again not in (None, anna.id)
        await edit_character(runtime, viewer, again, version=1, fields={"description": "New."})
        second = await export(story, tmp_path / "again", character_ids=(again,))
        sprites = {path for path in first.files if path.startswith("characters/Anna/")}
        assert len(sprites) == 2
        assert {path for path in second.files if path.startswith("characters/Anna/")} == sprites
        assert {path: second.verdict(path) for path in sprites} == dict.fromkeys(sprites, "exact")


async def test_v06_sprites_are_taken_up_when_their_card_comes_later(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "data", {"characters/Anna/joy.png": picture("gold"), "chats/Bo/a.jsonl": chat("Hi")}
    )
    async with open_story(database_url, tmp_path) as story, migrating(story.runtime, handlers=handler_of):
        before = await lines(story, await imported(story, folder))
        assert before["characters/Anna/joy.png"].verdict == "kept"
        still = await lines(story, await imported(story, folder))
        assert still["characters/Anna/joy.png"].verdict == "unchanged"
        write_folder(folder, {"characters/Anna.png": png_card(name="Anna")})
        later = await lines(story, await imported(story, folder))
        assert later["characters/Anna/joy.png"].verdict == "exact"
        assert later["characters/Anna/joy.png"].target_id == later["characters/Anna.png"].target_id
        assert await emotions(story, "characters/Anna.png") == ["joy"]
        assert (await lines(story, await imported(story, folder)))["characters/Anna/joy.png"].verdict == "unchanged"


async def test_v17_keys_in_another_order_are_no_change(sqlite_url: str, tmp_path: Path) -> None:
    turned = dict(reversed(said("Sam", "Hi.", extra={"b": [1, [2]], "a": {"d": 1, "c": 2}}).items()))
    folder = write_folder(tmp_path / "data", {"chats/Anna/a.jsonl": jsonl(turned, said("Anna", "Ho."))})
    async with open_story(sqlite_url, tmp_path) as story, migrating(story.runtime, handlers=handler_of):
        await imported(story, folder)
        write_folder(folder, {"chats/Anna/a.jsonl": jsonl(turned, said("Anna", "Ho."), said("Sam", "So."))})
        again = await lines(story, await imported(story, folder))
        assert again["chats/Anna/a.jsonl"].notes == ("1 new message was added.",)


async def test_v07_the_chat_of_an_old_group_is_called_as_the_group(sqlite_url: str, tmp_path: Path) -> None:
    files = {
        "characters/Anna.png": png_card(name="Anna"),
        "groups/77.json": {"id": 77, "name": "Crew", "members": ["Anna"]},
        "groups/88.json": {"name": "Nameless", "members": ["Anna.png"]},
        "group chats/77.jsonl": jsonl(said("Anna", "Ahoy.")),
        "group chats/88.jsonl": jsonl(said("Anna", "Ahoy again.")),
    }
    folder = write_folder(tmp_path / "data", files)
    async with open_story(sqlite_url, tmp_path) as story, migrating(story.runtime, handlers=handler_of):
        row = await scanned(story, folder)
        assert row.summary["broken_links"] == []
        found = await lines(story, await imported(story, row))
        assert {found[path].verdict for path in files} == {"exact"}
        assert found["group chats/77.jsonl"].notes == found["group chats/88.jsonl"].notes == ()


async def test_totals_count_the_verdicts_that_pictures_have_in_the_end(sqlite_url: str, tmp_path: Path) -> None:
    shown = said("Anna", "Look.", extra={"image": "user/images/Anna/a.png"})
    files = {
        "chats/Anna/a.jsonl": jsonl(shown),
        "user/images/Anna/a.png": picture("red"),
        "user/images/Anna/b.png": picture("blue"),
        "stats.json": json.dumps({}).encode(),
    }
    folder = write_folder(tmp_path / "data", files)
    async with open_story(sqlite_url, tmp_path) as story, migrating(story.runtime, handlers=handler_of):
        row = await imported(story, folder)
        found = [line.verdict for line in (await lines(story, row)).values()]
        assert sorted(map(str, found)) == ["exact", "exact", "kept", "kept"]
        assert row.summary["verdicts"] == {"exact": 2, "kept": 2}
        async with story.runtime.database.read() as session:
            totals = await item_totals(session, row.id)
        assert sum(count for *_rest, verdict, count, _size in totals if verdict == "kept") == 2
