"""Opening spaces: who is in them, what they are called, and what is said first."""

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import Message, Persona, Space, User
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.paths.state import state_at
from tavernkit.playground.story.spaces.service import create_space, start_story
from tests.playground.spaces.cast import character, members, opened, person, swipes_of
from tests.playground.stories import open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def test_a_space_opens_with_its_owner_its_characters_and_their_greetings(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada", "Bo", name_override="Robin")
        found = await members(play, made.space.id)
        assert [(row.kind, row.role, row.cached_display_name) for row in found] == [
            ("human", "owner", "Robin"),
            ("character", "member", "Ada"),
            ("character", "member", "Bo"),
        ]
        assert {(row.status, row.participation) for row in found} == {("active", "active")}
        conversation = made.conversation
        assert (conversation.title, conversation.kind, conversation.root_conversation_id) == (
            "Main",
            "root",
            conversation.id,
        )
        assert (conversation.last_seq, conversation.messages_count) == (2, 2)
        greetings = await swipes_of(play, conversation.id)
        assert [swipes[0].content for swipes in greetings] == ["I am Ada.", "I am Bo."]


async def test_alternate_greetings_are_swipes_with_their_own_state(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        ada = await character(
            play,
            "Ada",
            first_mes="Hello, {{user}}.{{setvar::mood::calm}}",
            alternate_greetings=["{{char}} shouts!{{setvar::mood::wild}}", "   ", "Who are you?"],
        )
        made = await create_space(play.runtime, play.viewer, character_ids=[ada], name_override="Robin")
        [swipes] = await swipes_of(play, made.conversation.id)
        assert [swipe.content for swipe in swipes] == ["Hello, Robin.", "Ada shouts!", "Who are you?"]
        assert [swipe.position for swipe in swipes] == [0, 1, 2]
        assert swipes[1].state_delta == {"set": {"variables.mood": "wild"}, "unset": []}
        async with play.runtime.database.read() as session:
            message = (
                await session.scalars(select(Message).where(Message.conversation_id == made.conversation.id))
            ).one()
            assert (message.swipes_count, message.active_swipe_id) == (3, swipes[0].id)
            assert await state_at(session, made.conversation.id, 1) == {"variables.mood": "calm"}


async def test_a_character_without_a_first_message_says_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        quiet = await character(play, "Quiet")
        made = await create_space(play.runtime, play.viewer, character_ids=[quiet])
        assert await swipes_of(play, made.conversation.id) == []


async def test_a_blank_name_is_taken_from_the_characters(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        for names, given, name in [
            (["Ada"], "", "Ada"),
            (["Ada", "Bo"], " \n", "Ada and Bo"),
            (["Ada", "Bo", "Cy"], "", "Ada, Bo and Cy"),
            (["Ada", "Bo", "Cy", "Di", "Ed"], "", "Ada, Bo, Cy and others"),
            ([], "", "New space"),
            (["Ada"], " The  office\x00 ", "The office"),
        ]:
            assert (await opened(play, *names, name=given)).space.name == name


async def test_a_persona_gives_the_owner_a_name(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        now, persona_id = play.runtime.clock(), uuid4()
        async with play.runtime.database.write() as session:
            session.add(Persona(id=persona_id, owner_id=play.user_id, name="Wren", created_at=now, updated_at=now))
        made = await opened(play, "Ada", persona_id=persona_id)
        assert (await members(play, made.space.id))[0].cached_display_name == "Wren"
        stranger = await person(play)
        refused = await refusal_of(create_space(play.runtime, stranger, persona_id=persona_id))
        assert refused.code == "not_found"


async def test_what_cannot_be_opened_leaves_nothing_behind(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        stranger = await person(play)
        theirs = await character(play, "Theirs", owner_id=stranger.user_id)
        mine = await character(play, "Mine")
        async with play.runtime.database.read() as session:
            before = await session.scalar(select(func.count()).select_from(Space))
        for ids, code in [([theirs], "not_found"), ([mine, uuid4()], "not_found"), ([mine, mine], "invalid")]:
            refused = await refusal_of(create_space(play.runtime, play.viewer, character_ids=ids))
            assert refused.code == code
        async with play.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(Space)) == before


async def test_a_story_goes_on_with_the_persona_of_the_last_one(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada", persona="A courier.", name_override="Robin")
        [_, ada] = await members(play, made.space.id)
        assert ada.character_id is not None
        async with play.runtime.database.read() as session:
            user = await session.get_one(User, play.user_id)
        started = await start_story(play.runtime, user, ada.character_id)
        [human, _] = await members(play, started.space_id)
        assert (human.cached_display_name, human.persona) == ("Robin", "A courier.")
