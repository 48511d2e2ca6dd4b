"""Characters of a folder: which file is whom, versions, what they are linked with, and the pictures beside them."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tavernkit import characters as library
from tavernkit.playground.base.database.models import Character, CharacterAsset, CharacterVersion
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.service import edit_character
from tavernkit.playground.story.lorebooks.documents import LinkPlace
from tavernkit.playground.story.lorebooks.links import detach_lorebook, lorebooks_at
from tavernkit.playground.story.migration.characters import character_bytes
from tavernkit.playground.story.paths.pictures import emotions_of
from tests.playground.characters.builders import picture, png_card
from tests.playground.migration.folder import Import, opened_import
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

WORLD = {"entries": {"0": {"uid": 0, "key": ["wood"], "content": "Trees."}}}


async def rows(play: Story) -> dict[str, Character]:
    """The characters that were imported, by the names of their files."""
    async with play.runtime.database.read() as session:
        found = await session.scalars(select(Character).where(Character.owner_id == play.user_id))
        return {row.file["avatar"]: row for row in found if row.file}


async def books_of(play: Story, character_id: UUID) -> list[str]:
    return [name for _, name in await lorebooks_at(play.runtime, play.viewer, LinkPlace(character_id=character_id))]


def anna(**fields: Any) -> bytes:
    return png_card(name="Anna", creator="me", character_book=None, **fields)


async def edited(play: Story, row: Character, description: str) -> None:
    await edit_character(play.runtime, play.viewer, row.id, version=row.version, fields={"description": description})


async def test_v04_two_annas_with_different_files_are_two_characters(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("characters/Anna.png", anna(description="Mends clocks."))
        moving.folder.write("characters/Anna1.png", anna(description="Mends clocks, too."))
        outcomes = await moving.run()
        found = await rows(play)
        assert [outcome.verdict for outcome in outcomes.values()] == ["exact", "exact"]
        assert {path: outcome.target_id for path, outcome in outcomes.items()} == {
            "characters/Anna.png": found["Anna.png"].id,
            "characters/Anna1.png": found["Anna1.png"].id,
        }
        assert {row.name for row in found.values()} == {"Anna"}
        other = await opened_import(play, tmp_path, "another")
        other.folder.write("characters/Anna.png", anna(description="Somebody else."))
        ((_, outcome),) = (await other.run()).items()
        assert outcome.target_id not in {row.id for row in found.values()}


async def test_v17_a_changed_card_becomes_a_version_and_an_unchanged_one_stays(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("characters/Anna.png", anna(description="First."))
        await moving.run()
        assert await moving.run() == {}
        before = (await rows(play))["Anna.png"]
        moving.folder.write("characters/Anna.png", anna(description="Second."))
        ((_, outcome),) = (await moving.run()).items()
        after = (await rows(play))["Anna.png"]
        assert (outcome.target_id, after.id, after.version) == (before.id, before.id, 2)
        assert after.data["data"]["description"] == "Second."
        async with play.runtime.database.read() as session:
            (kept,) = await session.scalars(select(CharacterVersion).where(CharacterVersion.character_id == after.id))
        assert kept.data["data"]["description"] == "First."


@pytest.mark.parametrize(
    ("conflict", "verdict", "descriptions"),
    [
        ("keep", "skipped", ["Mine."]),
        ("replace", "exact", ["Theirs."]),
        ("both", "exact", ["Mine.", "Theirs."]),
    ],
)
async def test_v17_a_card_changed_on_both_sides_is_what_somebody_has_chosen(
    sqlite_url: str, tmp_path: Path, conflict: Any, verdict: str, descriptions: list[str]
) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("characters/Anna.png", anna(description="First."))
        await moving.run()
        await edited(play, (await rows(play))["Anna.png"], "Mine.")
        moving.folder.write("characters/Anna.png", anna(description="Theirs."))
        ((_, outcome),) = (await moving.run(conflict=conflict)).items()
        async with play.runtime.database.read() as session:
            found = await session.scalars(select(Character).where(Character.name == "Anna"))
            said = sorted(row.data["data"]["description"] for row in found)
        assert (outcome.verdict, said) == (verdict, descriptions)


async def test_a_card_is_linked_with_the_book_of_its_own_source(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first = await opened_import(play, tmp_path, "first")
        second = await opened_import(play, tmp_path, "second")
        for moving in (first, second):
            moving.folder.write("worlds/Wood.json", WORLD)
            moving.folder.write("characters/Anna.png", anna(extensions={"world": "Wood"}))
            outcomes = await moving.run()
            character_id = outcomes["characters/Anna.png"].target_id
            ((link, _),) = await lorebooks_at(play.runtime, play.viewer, LinkPlace(character_id=character_id))
            assert link.lorebook_id == outcomes["worlds/Wood.json"].target_id


async def test_v06_a_missing_book_stays_named_and_is_linked_when_it_comes(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("characters/Anna.png", anna(extensions={"world": "Wood"}))
        outcomes = await moving.run()
        assert outcomes["characters/Anna.png"].notes == (
            "The card uses the lorebook Wood, which is missing. Import it to link it.",
        )
        row = (await rows(play))["Anna.png"]
        assert row.data["data"]["extensions"]["world"] == "Wood"
        moving.folder.write("worlds/Wood.json", WORLD)
        await moving.run()
        assert await books_of(play, row.id) == ["Wood"]
        ((link, _),) = await lorebooks_at(play.runtime, play.viewer, LinkPlace(character_id=row.id))
        await detach_lorebook(play.runtime, play.viewer, link.id)
        moving.folder.write("characters/Anna.png", anna(extensions={"world": "Wood"}, description="New."))
        await moving.run()
        assert await books_of(play, row.id) == []


async def test_v03_unknown_fields_of_a_card_survive_an_edit_and_the_export(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        unknown = {"extensions": {"future": {"deep": [1, None]}}, "not_in_the_spec": {"a": 1}}
        moving.folder.write("characters/Anna.png", anna(**unknown))
        await moving.run()
        assert await moving.is_unchanged("characters/Anna.png")
        row = (await rows(play))["Anna.png"]
        await edited(play, row, "Written here.")
        assert not await moving.is_unchanged("characters/Anna.png")
        async with play.runtime.database.read() as session:
            written = library.load(await character_bytes(play.runtime, session, row.id)).card.character
        assert written.description == "Written here."
        assert written.extensions["future"] == {"deep": [1, None]}
        assert written.unknown["not_in_the_spec"] == {"a": 1}


async def test_sprites_become_emotions_of_everybody_of_that_name(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("characters/Anna.png", anna())
        moving.folder.write("characters/Anna1.png", anna(description="Another one."))
        moving.folder.write("characters/Anna/joy.png", picture("gold"))
        moving.folder.write("characters/Anna/joy-2.png", picture("yellow"))
        moving.folder.write("characters/Anna/anger.webp", picture("red", format="WEBP"))
        moving.folder.write("characters/Anna/summer/joy.png", picture("pink"))
        moving.folder.write("characters/Nobody/joy.png", picture("grey"))
        moving.folder.write("characters/Anna/notes.png", b"no picture")
        outcomes = await moving.run()
        found = await rows(play)
        async with play.runtime.database.read() as session:
            for avatar in ("Anna.png", "Anna1.png"):
                assert list(await emotions_of(session, found[avatar].id)) == ["anger", "joy"]
        verdicts = {path.removeprefix("characters/"): one.verdict for path, one in outcomes.items()}
        assert verdicts == {
            "Anna.png": "exact",
            "Anna1.png": "exact",
            "Anna/joy.png": "exact",
            "Anna/joy-2.png": "exact",
            "Anna/anger.webp": "exact",
            "Anna/summer/joy.png": "kept",
            "Anna/notes.png": "kept",
            "Nobody/joy.png": "kept",
        }
        assert await moving.is_unchanged("characters/Anna.png")
        moving.folder.write("characters/Anna/joy.png", picture("orange"))
        await moving.run()
        async with play.runtime.database.read() as session:
            assets = await session.scalars(
                select(CharacterAsset.name).where(CharacterAsset.character_id == found["Anna.png"].id)
            )
            assert sorted(assets) == ["anger", "joy", "joy-2"]


async def test_a_newer_card_with_files_of_its_own_leaves_sprites_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving: Import = await opened_import(play, tmp_path)
        moving.folder.write("characters/Anna.png", anna())
        moving.folder.write("characters/Anna/joy.png", picture("gold"))
        await moving.run()
        asset = {"type": "emotion", "uri": "__asset:0", "name": "calm", "ext": "png"}
        moving.folder.write("characters/Anna.png", anna(assets=[asset]))
        await moving.run()
        async with play.runtime.database.read() as session:
            assert "joy" in await emotions_of(session, (await rows(play))["Anna.png"].id)
