"""Personas of a folder: their pictures, and what the settings say about them."""

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import select

from tavernkit.playground.base.database.models import Persona, PersonaConnection, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.lorebooks.documents import LinkPlace
from tavernkit.playground.story.lorebooks.links import lorebooks_at
from tavernkit.playground.story.migration.personas import connect_groups, persona_bytes, persona_of
from tavernkit.playground.story.migration.space_defaults import space_defaults
from tavernkit.playground.story.personas.documents import PatchPersona
from tavernkit.playground.story.personas.service import update_persona
from tavernkit.playground.story.spaces.service import create_space
from tests.playground.characters.builders import picture, png_card
from tests.playground.migration.folder import Import, opened_import
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

SAM = {
    "description": "A sailor.",
    "position": 4,
    "depth": 3,
    "role": 1,
    "title": "At sea",
    "lorebook": "Sea",
    "connections": [{"type": "character", "id": "Anna.png"}, {"type": "group", "id": "1700"}],
    "later": [1],
}


def settings(personas: dict[str, str], descriptions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    top = {"user_avatar": "sam.png", "username": "Sam", **fields}
    power_user = {"personas": personas, "persona_descriptions": descriptions, "default_persona": "sam.png"}
    return {**top, "power_user": power_user}


async def with_sam(play: Story, tmp_path: Path) -> Import:
    """A folder with a persona that is linked with everything."""
    moving = await opened_import(play, tmp_path)
    moving.folder.write("worlds/Sea.json", {"entries": {}})
    moving.folder.write("characters/Anna.png", png_card(name="Anna"))
    moving.folder.write("User Avatars/sam.png", picture("blue"))
    moving.folder.write("settings.json", settings({"sam.png": "Sam"}, {"sam.png": SAM}))
    return moving


async def personas(play: Story) -> dict[str, Persona]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(select(Persona).where(Persona.owner_id == play.user_id))
        return {row.file["avatar"]: row for row in found if row.file.get("avatar")}


async def test_a_persona_has_its_picture_and_what_the_settings_say(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await with_sam(play, tmp_path)
        outcomes = await moving.run()
        row = (await personas(play))["sam.png"]
        said = (row.name, row.description, row.position, row.depth, row.role, row.title, row.is_default)
        assert said == ("Sam", "A sailor.", "at_depth", 3, "user", "At sea", True)
        assert row.avatar_sha256 is not None
        assert outcomes["User Avatars/sam.png"].target_id == row.id
        assert row.file["entry"] == SAM
        place = LinkPlace(persona_id=row.id)
        assert [name for _, name in await lorebooks_at(play.runtime, play.viewer, place)] == ["Sea"]
        async with play.runtime.database.read() as session:
            connections = {one.key: one for one in await session.scalars(select(PersonaConnection))}
        assert connections["Anna.png"].character_id == outcomes["characters/Anna.png"].target_id
        assert (connections["1700"].kind, connections["1700"].character_id) == ("other", None)
        assert await moving.is_unchanged("User Avatars/sam.png")


async def test_namesakes_are_connected_by_the_files_of_their_cards(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_sam(play, tmp_path)
        moving.folder.write("characters/Anna1.png", png_card(name="Anna", description="Another."))
        connected = {**SAM, "connections": [{"type": "character", "id": "Anna1.png"}]}
        moving.folder.write("settings.json", settings({"sam.png": "Sam"}, {"sam.png": connected}))
        outcomes = await moving.run()
        async with play.runtime.database.read() as session:
            (connection,) = await session.scalars(select(PersonaConnection))
            sam = (await personas(play))["sam.png"]
            solo = await space_defaults(session, moving.job, "characters/Anna1.png")
        assert connection.character_id == outcomes["characters/Anna1.png"].target_id
        assert solo.persona_id == sam.id


async def test_v06_a_character_that_comes_later_selects_its_persona(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await with_sam(play, tmp_path)
        anna = moving.folder.open("characters/Anna.png").read()
        moving.folder.remove("characters/Anna.png")
        outcomes = await moving.run()
        assert "characters/Anna.png" in outcomes["settings.json"].notes[-2]
        moving.folder.write("characters/Anna.png", anna)
        later = await moving.run()
        async with play.runtime.database.read() as session:
            keys = PersonaConnection.key == "Anna.png"
            connection = (await session.scalars(select(PersonaConnection).where(keys))).one()
        assert connection.character_id == later["characters/Anna.png"].target_id


async def test_a_group_that_comes_later_has_its_persona(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        moving = await with_sam(play, tmp_path)
        await moving.run()
        opened = await create_space(play.runtime, play.viewer, name="At sea")
        async with play.runtime.database.write() as session:
            assert await connect_groups(session, moving.job, {"1700": opened.space.id, "1701": opened.space.id}) == 1
        async with play.runtime.database.read() as session:
            query = select(SpaceMembership).where(SpaceMembership.space_id == opened.space.id)
            member = (await session.scalars(query)).one()
            sam = await persona_of(session, moving.job, "sam.png")
        assert sam is not None
        assert (member.persona_id, member.cached_display_name) == (sam.id, "Sam")


async def test_pictures_and_entries_stand_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        for name in ("nameless", "in use"):
            moving.folder.write(f"User Avatars/{name}.png", picture("blue"))
        document = settings({"entry.png": "Entry"}, {}, user_avatar="in use.png", username="Me")
        moving.folder.write("settings.json", document)
        await moving.run()
        found = await personas(play)
        names = {avatar: (row.name, row.avatar_sha256 is None) for avatar, row in found.items()}
        assert names == {
            "nameless.png": ("nameless", False),
            "in use.png": ("Me", False),
            "entry.png": ("Entry", True),
        }
        moving.folder.write("User Avatars/entry.png", picture("red"))
        await moving.run()
        after = await personas(play)
        assert (after["entry.png"].id, after["entry.png"].avatar_sha256 is None) == (found["entry.png"].id, False)


@pytest.mark.parametrize(("conflict", "title"), [("keep", "Mine"), ("both", "Mine"), ("replace", "Theirs")])
async def test_v17_what_was_changed_here_stays_and_the_rest_is_taken_over(
    sqlite_url: str, tmp_path: Path, conflict: Any, title: str
) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_sam(play, tmp_path)
        await moving.run()
        row = (await personas(play))["sam.png"]
        patch = PatchPersona.model_validate({"settings_version": row.settings_version, "title": "Mine"})
        await update_persona(play.runtime, play.viewer, row.id, patch)
        changed = {**SAM, "title": "Theirs", "description": "A captain.", "connections": []}
        moving.folder.write("settings.json", settings({"sam.png": "Sam"}, {"sam.png": changed}))
        outcomes = await moving.run(conflict=conflict)
        after = (await personas(play))["sam.png"]
        assert (after.id, after.title, after.description) == (row.id, title, "A captain.")
        said = any("stay as they are: Sam." in note for note in outcomes["settings.json"].notes)
        assert said is (conflict != "replace")
        async with play.runtime.database.read() as session:
            assert (await session.scalars(select(PersonaConnection))).all() == []


async def test_a_new_picture_replaces_the_old_one_whatever_else_was_edited(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await with_sam(play, tmp_path)
        await moving.run()
        row = (await personas(play))["sam.png"]
        patch = PatchPersona.model_validate({"settings_version": row.settings_version, "name": "Samuel"})
        await update_persona(play.runtime, play.viewer, row.id, patch)
        moving.folder.write("User Avatars/sam.png", picture("red"))
        outcomes = await moving.run()
        after = (await personas(play))["sam.png"]
        assert outcomes["User Avatars/sam.png"].verdict == "exact"
        assert (after.name, after.avatar_sha256 == row.avatar_sha256) == ("Samuel", False)
        async with play.runtime.database.read() as session:
            written = await persona_bytes(play.runtime, session, row.id)
        assert written is not None
        assert Image.open(io.BytesIO(written)).format == "PNG"


async def test_a_picture_that_cannot_be_read_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        moving = await opened_import(play, tmp_path)
        moving.folder.write("User Avatars/sam.png", b"\x89PNG cut")
        ((_, outcome),) = (await moving.run()).items()
        assert outcome.verdict == "refused"
