"""Replies: generated once, streamed, stored with the end of their run, stopped at once when asked."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Message, OutboxEvent
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.story.replies.actions import discard_text, keep_text, request_stop, retry
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio


async def test_a_reply_becomes_a_message_when_it_is_complete(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with open_story(database_url, tmp_path, model) as play, play.working():
        await play.say("Is anybody there?")
        run = await play.until(lambda run: run.status == "succeeded")
        assert await play.messages() == [("user", "Is anybody there?"), ("assistant", "The lamp is lit.")]
        assert run.debug["finish_reason"] == "stop"
        async with play.runtime.database.read() as session:
            reply = (await session.scalars(select(Message).where(Message.run_id == run.id))).one()
            last = (await session.scalars(select(OutboxEvent).order_by(OutboxEvent.seq.desc()).limit(1))).one()
            assert (last.kind, last.payload["message_id"]) == ("reply", str(reply.id))


async def test_the_prompt_holds_character_persona_and_history(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("Yes.")
    async with open_story(database_url, tmp_path, model) as play, play.working():
        await play.say("Is it the ledger?")
        await play.until(lambda run: run.status == "succeeded")
    (request,) = model.requests
    contents = [message["content"] for message in request.messages]
    assert contents[0].startswith("Write the next reply of Ottoline")
    assert any("repairs pianos" in content for content in contents)
    assert contents[-1] == "Is it the ledger?"
    assert request.messages[-2]["role"] == "assistant"


async def test_the_text_is_told_piece_by_piece_with_offsets_a_browser_understands(
    database_url: str, tmp_path: Path
) -> None:
    text = "One 🦊 two three."
    async with open_story(database_url, tmp_path, ScriptedModel(text)) as play:
        async with play.runtime.bus.subscribe(conversation_topic(play.conversation_id)) as news, play.working():
            await play.say()
            await play.until(lambda run: run.status == "succeeded")
            pieces = []
            async with asyncio.timeout(HANG_SECONDS):
                while "".join(piece["text"] for piece in pieces) != text:
                    item = await news.next(unless=asyncio.Event(), within=HANG_SECONDS)
                    if item and "run" in item:
                        pieces.append(item)
        offset = 0
        for piece in pieces:
            assert piece["offset"] == offset
            offset += len(piece["text"].encode("utf-16-le")) // 2


async def test_the_text_so_far_is_on_the_run_about_every_second(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(("Once upon a time", asyncio.Event()))
    async with open_story(database_url, tmp_path, model) as play, play.working():
        await play.say()
        run = await play.until(lambda run: run.text == "Once upon a time")
        assert run.status == "running"


async def stopped(play: Story) -> None:
    run = await play.until(lambda run: play.runtime.live_text.get(run.id) == "Half a sen")
    await request_stop(play.runtime, play.viewer, run.id)
    await play.until(lambda run: run.status == "canceled")


async def test_stop_works_while_the_model_is_silent_and_keeps_what_was_written(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(("Half a sen", asyncio.Event()))
    async with open_story(database_url, tmp_path, model) as play, play.working():
        await play.say()
        await stopped(play)
        run = await play.run()
        assert run.text == "Half a sen"
        assert await play.messages() == [("user", "Hello?")]
        await keep_text(play.runtime, play.viewer, run.id)
        assert await play.messages() == [("user", "Hello?"), ("assistant", "Half a sen")]
        await refusal_of(keep_text(play.runtime, play.viewer, run.id))


async def test_stopped_text_can_be_discarded_and_the_reply_tried_again(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(("Half a sen", asyncio.Event()), "A whole sentence.")
    async with open_story(database_url, tmp_path, model) as play, play.working():
        await play.say()
        await stopped(play)
        run = await play.run()
        await discard_text(play.runtime, play.viewer, run.id)
        await retry(play.runtime, play.viewer, play.conversation_id)
        await play.until(lambda run: run.status == "succeeded")
        assert await play.messages() == [("user", "Hello?"), ("assistant", "A whole sentence.")]
        await refusal_of(retry(play.runtime, play.viewer, play.conversation_id))


async def test_a_waiting_run_is_stopped_without_a_worker(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        await request_stop(play.runtime, play.viewer, (await play.run()).id)
        assert (await play.run()).status == "canceled"


async def test_a_model_error_is_told_in_its_own_sentence(database_url: str, tmp_path: Path) -> None:
    error = ModelError("The key was refused. Check it.", code="http_error", status=401)
    model = ScriptedModel(("Half", error), "Now it works.")
    async with open_story(database_url, tmp_path, model) as play, play.working():
        await play.say()
        run = await play.until(lambda run: run.status == "failed")
        assert run.error == {"code": "http_error", "message": "The key was refused. Check it.", "status": 401}
        assert run.text == "Half"
        await play.say("And now?")
        await play.until(lambda run: run.status == "succeeded")
        assert (await play.messages())[-1] == ("assistant", "Now it works.")


async def test_an_empty_reply_is_an_error_and_no_message(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel(" \n ")) as play, play.working():
        await play.say()
        run = await play.until(lambda run: run.status == "failed")
        assert run.error is not None
        assert "empty" in run.error["message"]
        assert await play.messages() == [("user", "Hello?")]


async def test_what_a_database_cannot_hold_does_not_stop_a_reply(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("a\x00b")) as play, play.working():
        await play.say("x\x00y")
        await play.until(lambda run: run.status == "succeeded")
        assert await play.messages() == [("user", "xy"), ("assistant", "ab")]
