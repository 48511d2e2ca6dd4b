"""Saying something: stored before anything else happens, once, and answered by a queued run."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import Message, MessageSwipe, OutboxEvent, Run
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.paths.writing import MAX_MESSAGE_CHARACTERS
from tests.playground.stories import open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio


async def test_the_example_begins_with_the_characters_greeting(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play, play.runtime.database.read() as session:
        greeting = (await session.scalars(select(Message))).one()
        assert greeting.role == "assistant"
        assert greeting.content.startswith("The bell over the door")
        assert greeting.seq == 1


async def test_a_message_a_run_and_their_events_are_one_transaction(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        message_id = uuid4()
        sent = await play.say("  Good evening. ", message_id)
        assert isinstance(sent, Message)
        assert (sent.id, sent.seq, sent.content) == (message_id, 2, "Good evening.")
        run = await play.run()
        assert (run.status, run.kind, run.conversation_id) == ("queued", "user_turn", play.conversation_id)
        async with play.runtime.database.read() as session:
            events = (await session.scalars(select(OutboxEvent).order_by(OutboxEvent.seq))).all()
            assert [(event.seq, event.kind) for event in events] == [(1, "message"), (2, "run")]
            swipe = (await session.scalars(select(MessageSwipe).where(MessageSwipe.message_id == message_id))).one()
            assert (swipe.position, swipe.content, sent.active_swipe_id) == (0, "Good evening.", swipe.id)


async def test_sending_again_what_may_have_arrived_does_not_double_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        message_id = uuid4()
        first = await play.say("Hello?", message_id)
        second = await play.say("Hello?", message_id)
        assert isinstance(first, Message)
        assert isinstance(second, Message)
        assert await play.messages() == [("user", "Hello?")]


async def test_ten_tabs_that_send_at_once_queue_one_run(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        results = await asyncio.gather(*(play.say(f"Message {number}") for number in range(10)), return_exceptions=True)
        accepted = [result for result in results if isinstance(result, Message)]
        refused = {result.code for result in results if isinstance(result, Refused)}
        assert (len(accepted), refused) == (1, {"generation_locked"})
        async with play.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(Run)) == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [("", "blank"), (" \n\t", "blank"), ("\x00", "blank"), ("x" * (MAX_MESSAGE_CHARACTERS + 1), "too_long")],
)
async def test_what_cannot_be_a_message_is_refused_and_changes_nothing(
    database_url: str, tmp_path: Path, content: str, code: str
) -> None:
    async with open_story(database_url, tmp_path) as play:
        refused = await refusal_of(play.say(content))
        assert refused.code == code
        assert await play.messages() == []


async def test_somebody_elses_conversation_is_not_there(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        play.user_id = uuid4()
        refused = await refusal_of(play.say())
        assert refused.code == "not_found"


async def test_seeding_again_changes_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say("Hello?")
    async with open_story(database_url, tmp_path) as play:
        assert await play.messages() == [("user", "Hello?")]
