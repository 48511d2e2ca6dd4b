"""The stream of a conversation: numbered events that are replayed, text that is only for now."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tavernkit.playground.llm.scripted import ScriptedModel
from tavernkit.playground.realtime.outbox import PAGE
from tavernkit.playground.realtime.streaming import conversation_stream
from tavernkit.playground.runs.service import discard_text, request_stop
from tests.playground.playing import Play, playing

pytestmark = pytest.mark.anyio


def parsed(chunk: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in chunk.strip().split("\n"):
        name, _, value = line.partition(": ")
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


async def take(stream: AsyncIterator[str], count: int) -> list[dict[str, str]]:
    async with asyncio.timeout(5):
        return [parsed(await anext(stream)) for _ in range(count)]


def stream_of(play: Play, after: int = 0) -> AsyncIterator[str]:
    return conversation_stream(play.runtime, play.conversation_id, after)


async def test_what_happened_before_is_replayed_in_order_with_its_numbers(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        await play.say("Is anybody there?")
        hello, message, run = await take(stream_of(play), 3)
        assert (hello["event"], json.loads(hello["data"])) == ("hello", {"seq": 0})
        assert (message["event"], message["id"], run["id"]) == ("streams", "1", "2")
        assert "Is anybody there?" in message["data"]
        assert 'action="append" target="messages"' in message["data"]
        assert 'target="run"' in run["data"]


async def test_a_reader_goes_on_behind_the_last_number_it_has_seen(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        await play.say()
        _, run = await take(stream_of(play, after=1), 2)
        assert run["id"] == "2"


async def test_a_reply_is_seen_growing_and_then_arrives_whole(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel("One two three.")) as play:
        stream = stream_of(play)
        await take(stream, 1)
        async with play.working():
            await play.say()
            seen = []
            while not (seen and 'target="messages"' in seen[-1]["data"] and "One two three." in seen[-1]["data"]):
                seen += await take(stream, 1)
        pieces = [json.loads(event["data"]) for event in seen if event["event"] == "text"]
        assert "".join(piece["text"] for piece in pieces) == "One two three."
        numbers = [int(event["id"]) for event in seen if "id" in event]
        assert numbers == sorted(set(numbers))
        assert seen[-1]["data"].count("<turbo-stream") == 2


async def test_many_readers_get_the_same_events(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        streams = [stream_of(play) for _ in range(20)]
        for stream in streams:
            await take(stream, 1)
        await play.say()
        told = [[event["id"] for event in await take(stream, 2)] for stream in streams]
        assert told == [["1", "2"]] * 20


async def test_who_missed_too_much_is_told_to_refresh(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        for _ in range(PAGE // 3 + 1):
            await play.say()
            run = await play.run()
            await request_stop(play.runtime, run.id, play.user_id)
            await discard_text(play.runtime, run.id, play.user_id)
        _, refresh = await take(stream_of(play), 2)
        assert refresh["data"] == '<turbo-stream action="refresh"></turbo-stream>'
        assert int(refresh["id"]) > PAGE


async def test_the_stream_ends_as_soon_as_the_application_stops(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        stream = stream_of(play)
        await take(stream, 1)
        waiting = asyncio.ensure_future(anext(stream, None))
        await asyncio.sleep(0.05)
        play.runtime.stopping.set()
        async with asyncio.timeout(1):
            while (chunk := await waiting) is not None:
                assert chunk.startswith(":")
                waiting = asyncio.ensure_future(anext(stream, None))


async def test_hostile_text_reaches_the_page_as_text(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        await play.say(
            "<script>alert(1)</script>\n<img src=x onerror=alert(1)>\n</template></turbo-stream>\r\nevent: streams"
        )
        _, message = await take(stream_of(play), 2)
        assert "<script" not in message["data"]
        assert "onerror" not in re.sub(r"&lt;.*?&gt;", "", message["data"])
        assert message["data"].count("</turbo-stream>") == 2
