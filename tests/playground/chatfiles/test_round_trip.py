"""What comes in as a file goes out as that file, and what goes out comes in as what it was."""

import asyncio
import json
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from tavernkit.chats import read_chat, write_chat
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, SpaceMembership, TextContent
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.paths.injections import InjectionIn, list_injections, put_injection
from tavernkit.playground.story.paths.state import replay, set_beginning, state_at
from tavernkit.playground.story.paths.writing import add_message
from tests.playground.chatfiles.moving import bring_in, lines, messages, space_of, swipes, take_out
from tests.playground.stories import Story, open_story
from tests.strategies import json_objects, json_values, texts

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DATE = "2026-03-09T14:07:05.000Z"
NOTE = {"note_prompt": "Rain.", "note_depth": 2, "note_position": 1, "note_role": 0, "note_interval": 4}
INJECTED = {
    "weather": {"value": "It rains.", "position": 1, "depth": 2, "scan": True, "role": 1, "filter": None},
    "odd": {"value": 5, "position": "top"},
}
HEADER: dict[str, Any] = {
    "chat_metadata": {"variables": {"hp": 3}, **NOTE, "integrity": "x", "script_injects": INJECTED},
    "user_name": "Sam",
    "character_name": "Mira",
    "odd": [1],
}
SAID = {"name": "Sam", "is_user": True, "is_system": False, "send_date": DATE, "mes": "Hi.", "extra": {}}
ANSWER = {"name": "Mira", "is_user": False, "is_system": False, "send_date": "June 19, 2023 2:20pm", "mes": "Two.",
          "extra": {"model": "m", "token_count": 3}, "swipes": ["One.", "Two.", "Three."], "swipe_id": 1,
          "swipe_info": [{"send_date": 1, "extra": {}}, {"send_date": 2, "gen_started": DATE, "extra": {"a": 1}}],
          "theirs": {"deep": None}}  # fmt: skip
HIDDEN = {**SAID, "is_system": True, "mes": "Not in the prompt."}
NARRATOR = {"name": "Sam", "is_user": False, "is_system": False, "mes": "Night.", "extra": {"type": "narrator"}}
GROUP = {**ANSWER, "name": "Owl", "original_avatar": "Owl.png", "force_avatar": "/thumbnail?file=Owl.png"}
ODD = [
    {**ANSWER, "mes": "Neither."},
    {**ANSWER, "swipe_id": 9},
    {**ANSWER, "swipes": []},
    {**ANSWER, "swipes": ["a", 5, None]},
    {**ANSWER, "swipe_info": [{"x": 1}] * 5},
    {**SAID, "mes": 5, "name": None, "is_user": "yes", "send_date": [], "extra": None},
    {"mes": "a\x00b", "is_user": False, "extra": {"reasoning": "\x00"}},
    {"mes": "half \ud83e", "is_user": False, "swipes": ["half \ud83e", "\ud800"], "swipe_id": 1},
]


@pytest.mark.parametrize("headed", [True, False])
async def test_a_file_comes_back_byte_for_byte(database_url: str, tmp_path: Path, headed: bool) -> None:
    file = lines(*([HEADER] if headed else []), SAID, "", ANSWER, HIDDEN, "{damaged", NARRATOR, GROUP, *ODD, "")
    (chat,), _ = read_chat(file, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        conversation = await bring_in(play, write_chat(chat).encode(), title="Evening")
        assert await take_out(play, conversation.id) == write_chat(chat)


async def test_injections_of_a_file_come_in_and_those_of_a_conversation_go_out(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        conversation = await bring_in(play, lines(HEADER, SAID), title="Evening")
        (row,) = await list_injections(play.runtime, play.viewer, conversation.id)
        assert (row.name, row.content, row.position, row.depth, row.role, row.scan) == (
            *("weather", "It rains.", "chat", 2, "user"),
            True,
        )
        for name, ephemeral in (("rule", False), ("hint", True)):
            new = InjectionIn(content="Be brief.", position="before", ephemeral=ephemeral)
            await put_injection(play.runtime, play.viewer, conversation.id, name, new)
        header = json.loads((await take_out(play, conversation.id)).splitlines()[0])
        assert header["chat_metadata"]["script_injects"] == {
            "rule": {"value": "Be brief.", "position": 2, "depth": 4, "scan": False, "role": 0},
            "weather": INJECTED["weather"],
        }


async def test_what_is_stored_is_what_the_file_says(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        conversation = await bring_in(play, lines(HEADER, SAID, ANSWER, HIDDEN, NARRATOR), title="Evening")
        said, answer, hidden, narrator = await messages(play, conversation.id)
        assert (conversation.title, conversation.last_seq, conversation.messages_count) == ("Evening", 4, 4)
        assert [row.seq for row in (said, answer, hidden, narrator)] == [1, 2, 3, 4]
        assert [row.role for row in (said, answer, hidden, narrator)] == ["user", "assistant", "user", "system"]
        assert [row.visibility for row in (said, answer, hidden)] == ["normal", "normal", "excluded"]
        assert (said.created_at, answer.created_at) == (
            datetime(2026, 3, 9, 14, 7, 5, tzinfo=UTC), datetime(2023, 6, 19, 14, 20, tzinfo=UTC)
        )  # fmt: skip
        told = await swipes(play, answer)
        assert (answer.content, answer.swipes_count, [swipe.content for swipe in told]) == (
            "Two.", 3, ["One.", "Two.", "Three."]
        )  # fmt: skip
        assert (answer.active_swipe_id, answer.text_id) == (told[1].id, told[1].text_id)
        assert conversation.settings["authors_note"] == {
            "text": "Rain.", "depth": 2, "position": "chat", "role": "system", "interval": 4
        }  # fmt: skip
        async with play.runtime.database.read() as session:
            assert await state_at(session, conversation.id, 4) == {"variables.hp": 3}


async def test_what_was_changed_here_is_in_the_file(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        conversation = await bring_in(play, lines(HEADER, SAID, ANSWER))
        said, answer = await messages(play, conversation.id)
        first = (await swipes(play, answer))[0]
        async with play.runtime.database.write() as session:
            text = TextContent(id=uuid4(), content="Hello.")
            session.add(text)
            await session.flush()
            for model, key in ((Message, Message.id == said.id), (MessageSwipe, MessageSwipe.message_id == said.id)):
                await session.execute(update(model).where(key).values(text_id=text.id))
            await session.execute(
                update(Message).where(Message.id == answer.id).values(
                    active_swipe_id=first.id, text_id=first.text_id, visibility="excluded"
                )
            )  # fmt: skip
            stored = await session.get_one(Conversation, conversation.id)
            stored.settings = {**stored.settings, "authors_note": {"text": "Snow.", "position": "before"}}
            await set_beginning(session, conversation.id, {"variables.hp": 2, "variables.gold": "7"})
        header, said_now, answer_now = map(json.loads, (await take_out(play, conversation.id)).split("\n"))
        metadata = {**HEADER["chat_metadata"], "variables": {"hp": 2, "gold": "7"}, "note_prompt": "Snow.",
                    "note_position": 2}  # fmt: skip
        assert header == {**HEADER, "chat_metadata": metadata}
        assert said_now == {**SAID, "mes": "Hello."}
        assert answer_now == {**ANSWER, "mes": "One.", "swipe_id": 0, "send_date": 1, "extra": {}, "is_system": True}


record = st.fixed_dictionaries(
    {"mes": texts},
    optional={
        "name": texts | json_values,
        "is_user": st.booleans() | json_values,
        "is_system": st.booleans(),
        "send_date": st.just(DATE) | st.integers(0, 2**45) | json_values,
        "extra": json_objects | json_values,
        "swipes": st.lists(texts, max_size=3) | json_values,
        "swipe_id": st.integers(-1, 4) | json_values,
        "swipe_info": st.lists(json_objects, max_size=4) | json_values,
        "original_avatar": texts,
        "odd": json_values,
    },
)
chats = st.tuples(st.none() | st.dictionaries(texts, json_values, max_size=3), st.lists(record, min_size=1, max_size=4))


def on_one_database(url: str, folder: Path, check: Any) -> None:
    """Run `check(play, run)`, which may run coroutines again and again on the same application."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        play = runner.run(stack.enter_async_context(open_story(url, folder, ScriptedModel())))
        try:
            check(play, runner.run)
        finally:
            runner.run(stack.aclose())


def test_whatever_a_file_holds_survives(database_url: str, tmp_path: Path) -> None:
    def check(play: Story, run: Any) -> None:
        @given(chats)
        @settings(max_examples=40)
        def survives(chat: tuple[dict[str, Any] | None, list[dict[str, Any]]]) -> None:
            metadata, records = chat
            header = {"chat_metadata": metadata or {}, "user_name": "Sam", "character_name": "Mira"}
            (read,), _ = read_chat(lines(*map(json.dumps, [header, *records])), now=lambda: datetime.now(UTC))
            file = write_chat(read)
            assert run(take_out(play, run(bring_in(play, file)).id)) == file

        survives()

    on_one_database(database_url, tmp_path, check)


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12)
deltas = st.none() | st.dictionaries(words.map(lambda word: f"variables.{word}"), st.integers(0, 9), min_size=1).map(
    lambda put: {"set": put, "unset": []}
)
told = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "swipes": st.lists(
            st.tuples(words, deltas, st.just({}) | st.just({"reasoning": "Hm."})), min_size=1, max_size=3
        ),
        "active": st.integers(0, 2),
        "visibility": st.sampled_from(["normal", "excluded", "hidden"]),
    }
)


def test_a_conversation_that_goes_out_comes_in_as_what_it_was(database_url: str, tmp_path: Path) -> None:
    def check(play: Story, run: Any) -> None:
        @given(
            st.lists(told, max_size=4), st.dictionaries(words.map(lambda word: f"variables.{word}"), words, max_size=1)
        )
        @settings(max_examples=25)
        def survives(messages: list[dict[str, Any]], beginning: dict[str, Any]) -> None:
            first = run(tell(play, messages, beginning))
            file = run(take_out(play, first))
            second = run(bring_in(play, file)).id
            assert run(take_out(play, second)) == file
            assert run(story(play, first)) == run(story(play, second))

        survives()

    on_one_database(database_url, tmp_path, check)


async def tell(play: Story, messages: list[dict[str, Any]], beginning: dict[str, Any]) -> UUID:
    """A conversation with these messages, written here."""
    ids, now = play.runtime.ids, datetime(2026, 5, 1, tzinfo=UTC)
    space_id = await space_of(play)
    async with play.runtime.database.write() as session:
        members = {
            member.kind: member.id
            for member in await session.scalars(select(SpaceMembership).where(SpaceMembership.status == "active"))
        }
        conversation = Conversation(id=ids(), space_id=space_id, title="T", created_at=now, updated_at=now, settings={})
        session.add(conversation)
        await session.flush()
        for message in messages:
            now += timedelta(milliseconds=1500)
            text, delta, metadata = message["swipes"][0]
            row = await add_message(
                session, ids, id=ids(), conversation_id=conversation.id, role=message["role"], content=text, now=now,
                membership_id=members["human" if message["role"] == "user" else "character"], state_delta=delta,
                metadata=metadata,
            )  # fmt: skip
            for position, (text, delta, metadata) in enumerate(message["swipes"][1:], start=1):
                content = TextContent(id=ids(), content=text)
                session.add(content)
                await session.flush()
                swipe = MessageSwipe(id=ids(), message_id=row.id, position=position, text_id=content.id,
                                     state_delta=delta, metadata_=metadata, created_at=now)  # fmt: skip
                session.add(swipe)
                await session.flush()
                row.swipes_count += 1
                if position == message["active"]:
                    row.active_swipe_id, row.text_id = swipe.id, content.id
            row.visibility = message["visibility"]
            conversation.messages_count = conversation.messages_count - (message["visibility"] == "hidden")
        await session.flush()
        if beginning:
            await set_beginning(session, conversation.id, beginning)
        return conversation.id


async def story(play: Story, conversation_id: UUID) -> Any:
    """What one sees of a conversation, and the state that it leaves."""
    rows = [row for row in await messages(play, conversation_id) if row.visibility != "hidden"]
    seen = [
        (row.role, row.content, row.visibility, row.swipes_count, row.membership_id,
         [(swipe.content, swipe.state_delta) for swipe in await swipes(play, row)])
        for row in rows
    ]  # fmt: skip
    async with play.runtime.database.read() as session:
        conversation = await session.get_one(Conversation, conversation_id)
        state = await state_at(session, conversation_id, conversation.last_seq)
        assert state == await replay(session, conversation_id, conversation.last_seq)
        return seen, state
