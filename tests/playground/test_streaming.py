"""The stream of a conversation: numbered events that are replayed, text that is only for now."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import BACKLOG, conversation_topic
from tavernkit.playground.base.realtime.outbox import PAGE, append_event
from tavernkit.playground.base.runtime import open_runtime
from tavernkit.playground.edge.live import streaming
from tavernkit.playground.edge.presenting.conversations import run_view
from tavernkit.playground.story.replies import worker
from tests.playground.realtime.listening import Page
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio


HOUR = 3_600


async def publish_texts(play: Story, *pieces: tuple[str, int, str]) -> None:
    """Publish pieces of replies, and wait until everybody who listens in this process has them."""
    topic = conversation_topic(play.conversation_id)
    items = [{"run": run, "offset": offset, "text": text} for run, offset, text in pieces]
    async with play.runtime.bus.subscribe(topic) as listener:
        # Fewer at a time than what a listener holds, so that this one misses none.
        for start in range(0, len(items), BACKLOG // 2):
            some = items[start : start + BACKLOG // 2]
            await asyncio.gather(*(play.runtime.bus.publish(topic, item) for item in some))
            heard = 0
            while heard < len(some):
                heard += len(await listener.all_next(unless=asyncio.Event(), within=HANG_SECONDS))


async def take_hello(play: Story, *pages: Page) -> None:
    """Let pages come so far that they have read what there was, and wait for what comes."""
    await asyncio.gather(*(page.take(1) for page in pages))
    await publish_texts(play, ("0", 0, "a"))
    await asyncio.gather(*(page.take(1) for page in pages))


@asynccontextmanager
async def other_process(play: Story) -> AsyncIterator[Story]:
    """The same conversation in another process, if the database can have several."""
    if not play.runtime.database.is_postgresql:
        yield play
        return
    async with open_runtime(play.runtime.settings) as runtime:
        yield Story(runtime, play.user_id, play.conversation_id)


async def text_so_far(play: Story) -> str:
    async with play.runtime.database.read() as session:
        view = await run_view(play.runtime, session, play.conversation_id)
    assert view is not None
    return view.text


async def test_what_happened_before_is_replayed_in_order_with_its_numbers(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say("Is anybody there?")
        hello, message, run = await Page(play).take(3)
        assert (hello["event"], json.loads(hello["data"])) == ("hello", {"seq": 0})
        assert (message["event"], message["id"], run["id"]) == ("streams", "1", "2")
        assert "Is anybody there?" in message["data"]
        assert 'action="append" target="messages"' in message["data"]
        assert 'target="run"' in run["data"]


async def test_a_reader_goes_on_behind_the_last_number_it_has_seen(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say()
        _, run = await Page(play, after=1).take(2)
        assert run["id"] == "2"


async def test_a_reply_is_seen_growing_and_then_arrives_whole(database_url: str, tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_story(database_url, tmp_path, ScriptedModel(("One two three.", gate))) as play:
        page = Page(play)
        await page.take(1)
        async with play.working():
            await play.say()
            seen = await page.until(lambda event: event["event"] == "text" and "three." in event["data"])
            gate.set()
            seen += await page.until(
                lambda event: 'target="messages"' in event["data"] and "One two three." in event["data"]
            )
        pieces = [json.loads(event["data"]) for event in seen if event["event"] == "text"]
        assert "".join(piece["text"] for piece in pieces) == "One two three."
        numbers = [int(event["id"]) for event in seen if "id" in event]
        assert numbers == sorted(set(numbers))
        # The message, the place of the reply, the group bar and the note of budgets; and that something has changed.
        assert seen[-1]["data"].count("<turbo-stream") == 5


async def test_many_readers_get_the_same_events_from_few_readings(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the pause between two pieces, all of them wait again after a few turns of the loop.
    monkeypatch.setattr(streaming, "PAUSE_PER_READER_SECONDS", 0)
    async with open_story(database_url, tmp_path) as play:
        pages = [Page(play) for _ in range(40)]
        await take_hello(play, *pages)
        listening = [asyncio.ensure_future(page.take(2)) for page in pages]
        for _ in range(10):
            await asyncio.sleep(0)
        with counted_statements(play.runtime.database, of_all=True) as sent:
            await play.say()
            told = [[event["id"] for event in await events] for events in listening]
        assert told == [["1", "2"]] * 40
        assert 1 <= sum("FROM outbox_events" in statement for statement in sent) <= 4


async def test_a_reader_who_leaves_while_events_are_read_harms_nobody(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        pages = [Page(play) for _ in range(10)]
        await asyncio.gather(*(page.take(1) for page in pages))
        await play.say()
        listening = [asyncio.ensure_future(page.take(2)) for page in pages]
        for _ in range(3):
            await asyncio.sleep(0)
        for leaving in listening[::2]:
            leaving.cancel()
        told = await asyncio.gather(*listening[1::2])
        assert [[event["id"] for event in events] for events in told] == [["1", "2"]] * 5


async def test_words_that_came_together_are_one_piece(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        page = Page(play)
        await page.take(1)
        await publish_texts(play, ("1", 0, "An owl 🦉"), ("1", 9, " flies"), ("1", 20, "."), ("2", 21, "No"))
        pieces = [json.loads(event["data"]) for event in await page.take(3)]
        assert pieces == [
            {"run": "1", "offset": 0, "text": "An owl 🦉 flies"},
            {"run": "1", "offset": 20, "text": "."},
            {"run": "2", "offset": 21, "text": "No"},
        ]


async def test_a_reader_who_is_too_slow_looks_again_and_misses_nothing_that_stays(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play:
        page = Page(play)
        await page.take(1)
        await play.say()
        await publish_texts(play, *(("1", 10 * number, "a") for number in range(2 * BACKLOG)), ("2", 0, "The end."))
        seen = await page.until(lambda event: event["event"] == "text" and json.loads(event["data"])["run"] == "2")
        assert len(seen) <= BACKLOG + 5
        # At "hello" the page asks for the text so far.
        assert "hello" in {event["event"] for event in seen}
        assert [event["id"] for event in seen if event["event"] == "streams"] == ["1", "2"]


async def test_who_comes_in_the_middle_of_a_reply_can_put_it_together(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other processes know of a reply what has been written down.
    monkeypatch.setattr(worker, "CHECKPOINT_SECONDS", 0)
    gates = [asyncio.Event() for _ in range(3)]
    model = ScriptedModel(["One two", gates[0], " three", gates[1], " four.", gates[2]])
    async with open_story(database_url, tmp_path, model) as play, other_process(play) as reader, play.working():
        await play.say()
        await play.until(lambda run: run.text == "One two")
        page = Page(reader)
        await page.take(1)
        known = await text_so_far(reader)
        assert known == "One two"
        gates[0].set()
        seen = await page.until(lambda event: event["event"] == "text" and " three" in event["data"])
        gates[1].set()
        seen += await page.until(lambda event: event["event"] == "text" and " four." in event["data"])
        for piece in (json.loads(event["data"]) for event in seen if event["event"] == "text"):
            assert piece["offset"] <= len(known)
            known += piece["text"][len(known) - piece["offset"] :]
        assert known == "One two three four."


async def test_a_reader_waits_while_the_database_is_away(
    postgres_story_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_story(postgres_story_url, tmp_path) as play:
        page = Page(play)
        await take_hello(play, page)
        listening = asyncio.ensure_future(page.take(2))
        async with play.runtime.database.write() as session:
            await session.execute(text("ALTER TABLE outbox_events RENAME TO away"))
        await play.runtime.bus.publish(conversation_topic(play.conversation_id), {"seq": 1})
        await eventually(lambda: "Could not read the events" in caplog.text)
        assert not listening.done()
        async with play.runtime.database.write() as session:
            await session.execute(text("ALTER TABLE away RENAME TO outbox_events"))
        await play.say()
        assert [event["id"] for event in await listening] == ["1", "2"]


async def test_who_missed_too_much_is_told_to_refresh(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        async with play.runtime.database.write() as session:
            for _ in range(PAGE + 1):
                last = await append_event(session, play.conversation_id, "conversation", play.runtime.clock())
        _, refresh = await Page(play).take(2)
        assert refresh["data"] == '<turbo-stream action="refresh"></turbo-stream>'
        assert refresh["id"] == str(last)


async def test_the_stream_ends_as_soon_as_the_application_stops(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        page = Page(play, keep_alive=HOUR)
        await take_hello(play, page)
        ending = asyncio.ensure_future(page.rest())
        await asyncio.sleep(0)
        play.runtime.stopping.set()
        assert await ending == []


async def test_hostile_text_reaches_the_page_as_text(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        await play.say(
            "<script>alert(1)</script>\n<img src=x onerror=alert(1)>\n</template></turbo-stream>\r\nevent: streams"
        )
        _, message = await Page(play).take(2)
        assert "<script" not in message["data"]
        assert "onerror" not in re.sub(r"&lt;.*?&gt;", "", message["data"])
        assert message["data"].count("</turbo-stream>") == 4
