"""Backyard archives: the character with its pictures, and a story of its chats."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation, Job, Space, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.queries import assets_of
from tavernkit.playground.story.chatfiles.importing import CHAT_IMPORT_KIND, MAX_AT_ONCE
from tests.characters import card_files
from tests.playground.characters.builders import brought, picture
from tests.playground.chatfiles.moving import carried_out, messages
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio


async def stories_of(play: Story, character_id: UUID) -> list[Space]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(
            select(Space).join(SpaceMembership).where(SpaceMembership.character_id == character_id)
        )
        return list(found)


async def chats_of(play: Story, space_id: UUID) -> dict[str, list[tuple[str, str]]]:
    """The messages of each conversation with the roles of who is in the space."""
    async with play.runtime.database.read() as session:
        found = await session.scalars(
            select(Conversation).where(Conversation.space_id == space_id).order_by(Conversation.title)
        )
        conversations = found.all()
        there = await session.scalars(
            select(SpaceMembership.id).where(SpaceMembership.space_id == space_id, SpaceMembership.status == "active")
        )
        members = set(there)
    chats = {row.title: await messages(play, row.id) for row in conversations}
    assert {row.membership_id for rows in chats.values() for row in rows} <= members
    return {title: [(row.role, row.content) for row in rows] for title, rows in chats.items()}


async def test_chats_of_an_archive_become_a_story_with_its_character(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        imported = await brought(play, card_files.byaf())
        assert imported.sentence == "Ysolde was imported, with a story of 2 chats."
        assert imported.notes == ()
        [space] = await stories_of(play, imported.character.id)
        assert (space.name, space.status, space.owner_id) == ("Ysolde", "active", play.user_id)
        assert await chats_of(play, space.id) == {
            "Ysolde 1": [("assistant", "Tick, {{user}}."), ("user", "hi")],
            "Ysolde 2": [("assistant", "Up here!"), ("user", "hi")],
        }


async def test_an_archive_without_chats_makes_no_story(sqlite_url: str, tmp_path: Path) -> None:
    scenario = {"firstMessages": [{"text": "Hello."}], "messages": []}
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        file = card_files.byaf(**{"scenarios/s1.json": scenario, "scenarios/s2.json": scenario})
        imported = await brought(play, file)
        assert imported.sentence == "Ysolde was imported."
        assert await stories_of(play, imported.character.id) == []


async def test_an_archive_of_a_character_that_exists_makes_no_second_story(database_url: str, tmp_path: Path) -> None:
    said = {"messages": [{"type": "human", "text": "Still there?"}], "firstMessages": [{"text": "Tick, {user}."}]}
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first = await brought(play, card_files.byaf())
        assert (await brought(play, card_files.byaf())).outcome == "same"
        changed = await brought(play, card_files.byaf(**{"scenarios/s1.json": said}), same_name="version")
        assert (changed.outcome, changed.character.id) == ("updated", first.character.id)
        assert [note for note in changed.notes if "chats in the file were not imported" in note]
        assert len(await stories_of(play, first.character.id)) == 1


async def test_a_background_is_an_asset_of_its_kind(database_url: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "scenarios/s1.json": {"backgroundImage": "scenarios/s1-background.jpg"},
        "scenarios/s1-background.jpg": picture(format="JPEG"),
    }
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        imported = await brought(play, card_files.byaf(**changes))
        async with play.runtime.database.read() as session:
            assets = await assets_of(session, imported.character.id)
        assert {(asset.kind, asset.name, asset.ext) for asset in assets} == {
            ("icon", "main", "png"),
            ("background", "main", "jpg"),
        }


async def test_a_long_chat_is_imported_by_a_job_into_the_story(database_url: str, tmp_path: Path) -> None:
    texts = [f"Number {number}." for number in range(MAX_AT_ONCE + 1)]
    said = [{"type": "human", "text": text} for text in texts]
    file = card_files.byaf(**{"scenarios/s1.json": {"messages": said}, "scenarios/s2.json": {}})
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        async with api_client(play.runtime, play.user_id) as client:
            answer = await client.post("/characters", files={"file": ("y.byaf", file)})
        assert answer.json()["sentence"] == "Ysolde was imported, with a story of 1 chat."
        [space] = await stories_of(play, UUID(answer.json()["character"]["id"]))
        async with browser(play.runtime, play.user_id) as visitor:
            for path in ("/", f"/spaces/{space.id}", f"/characters/{answer.json()['character']['id']}"):
                page = await visitor.get(path, follow_redirects=True)
                assert page.status_code == 200, path
        async with play.runtime.database.read() as session:
            job = await session.scalar(select(Job).where(Job.kind == CHAT_IMPORT_KIND))
        assert job is not None
        await carried_out(play, job)
        assert await chats_of(play, space.id) == {"Ysolde": [("user", text) for text in texts]}
