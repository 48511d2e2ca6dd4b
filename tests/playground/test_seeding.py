"""What an empty installation begins with."""

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import delete, func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Character, Conversation, Lorebook, Message, Persona, Preset, Space
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.edge.presenting.home import home_view
from tavernkit.playground.story.characters.service import delete_character
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.previews.service import preview_prompt
from tavernkit.playground.story.seeding import GROUP_NAME, seed
from tavernkit.playground.story.spaces.service import delete_space

pytestmark = pytest.mark.anyio

NOUNS = (Character, Space, Conversation, Message, Lorebook, Preset, Persona)


def empty(url: str, folder: Path) -> AppConfig:
    return AppConfig(data_dir=folder, database_url=url)


async def counts(runtime: Runtime) -> list[int]:
    async with runtime.database.read() as session:
        return [await session.scalar(select(func.count()).select_from(noun)) or 0 for noun in NOUNS]


async def test_a_small_world_waits_for_whoever_comes_first(migrated_database_url: str, tmp_path: Path) -> None:
    async with open_runtime(empty(migrated_database_url, tmp_path)) as runtime:
        owner = await seed(runtime)
        home = await home_view(runtime, Viewer(user_id=owner.id))
        group, alone = home.stories
        assert [character.face.name for character in home.characters] == ["Ottoline", "Tansy"]
        assert (group.space_name, [face.name for face in group.faces]) == (GROUP_NAME, ["Ottoline", "Tansy"])
        assert (alone.space_name, [face.name for face in alone.faces]) == ("Ottoline", ["Ottoline"])
        # In the group both greet, in their order; each greeting has another one behind it.
        async with runtime.database.read() as session:
            said = await session.scalars(
                select(Message).join(Conversation).join(Space).where(Space.name == GROUP_NAME).order_by(Message.seq)
            )
            assert [(message.swipes_count, message.content.split()[0]) for message in said] == [(2, "The"), (2, "The")]


async def test_it_comes_once_and_what_is_removed_stays_removed(migrated_database_url: str, tmp_path: Path) -> None:
    async with open_runtime(empty(migrated_database_url, tmp_path)) as runtime:
        owner = await seed(runtime)
        before = await counts(runtime)
        await seed(runtime)
        assert await counts(runtime) == before == [2, 2, 2, 3, 1, 1, 1]
        viewer = Viewer(user_id=owner.id)
        async with runtime.database.read() as session:
            spaces = list(await session.scalars(select(Space.id)))
            characters = list(await session.scalars(select(Character.id)))
        for space_id in spaces:
            await delete_space(runtime, viewer, space_id)
        for character_id in characters:
            await delete_character(runtime, viewer, character_id)
    async with open_runtime(empty(migrated_database_url, tmp_path)) as runtime:
        await seed(runtime)
        home = await home_view(runtime, viewer)
        assert (home.stories, home.characters) == ((), ())


async def test_what_they_know_of_the_place_and_how_they_are_told_are_in_their_prompts(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with open_runtime(empty(migrated_sqlite_url, tmp_path)) as runtime:
        viewer = Viewer(user_id=(await seed(runtime)).id)
        async with runtime.database.read() as session:
            conversation_id = await session.scalar(
                select(Conversation.id).join(Space, Space.id == Conversation.space_id).where(Space.name == GROUP_NAME)
            )
        assert conversation_id is not None
        said = await send_message(
            runtime, viewer, conversation_id, message_id=uuid4(), content="Is that soup? And what is that light?"
        )
        assert isinstance(said, Message)
        prompt = repr(await preview_prompt(runtime, viewer, conversation_id))
        for words in ("forty-one umbrellas", "The light in the reeds", "decide for Robin", "repairs pianos"):
            assert words in prompt, words
        assert "the office cat" not in prompt


async def test_who_has_characters_already_gets_nobody_else(migrated_database_url: str, tmp_path: Path) -> None:
    async with open_runtime(empty(migrated_database_url, tmp_path)) as runtime:
        await seed(runtime)
        async with runtime.database.write() as session:
            await session.execute(delete(Lorebook))
        after = await counts(runtime)
    async with open_runtime(empty(migrated_database_url, tmp_path)) as runtime:
        await seed(runtime)
        assert await counts(runtime) == after
