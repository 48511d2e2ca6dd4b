"""Who is there: told to members, expired by the clock, and never stored."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.realtime.bus import Bus
from tavernkit.playground.base.realtime.presence import LASTS, TYPING_PAUSE, Person, Presence
from tests.playground.realtime.listening import Page
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

MIA, BEN = Person(member_id="1", name="Mia"), Person(member_id="2", name="Ben")


async def people_on(page: Page) -> list[str]:
    """The names in the next event that says who is there."""
    events = await page.until(lambda event: event["event"] == "presence")
    return [person["name"] for person in json.loads(events[-1]["data"])["people"]]


async def test_members_see_each_other_come_and_go_and_readers_see_nobody(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        reader, mia = Page(play), Page(play, person=MIA)
        await reader.take(1)
        await mia.take(1)
        ben = Page(play, person=BEN)
        await ben.take(1)
        assert await people_on(mia) == ["Ben"]
        assert await people_on(ben) == ["Mia"]
        await play.runtime.presence.type(play.conversation_id, BEN)
        events = await mia.until(lambda event: event["event"] == "typing")
        assert json.loads(events[-1]["data"]) == {"member": "2", "name": "Ben"}
        await ben.leave()
        assert await people_on(mia) == []
        await note(play, "over")
        heard = await reader.until(lambda event: event["event"] == "text")
        assert {event["event"] for event in heard} == {"text"}


async def test_a_person_with_two_tabs_is_there_once_until_the_last_is_closed(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        mia, first, second = Page(play, person=MIA), Page(play, person=BEN), Page(play, person=BEN)
        for page in (mia, first, second):
            await page.take(1)
        assert await people_on(mia) == ["Ben"]
        await first.leave()
        await note(play, "still here")
        heard = await mia.until(lambda event: event["event"] == "text")
        assert {event["event"] for event in heard} == {"text"}
        await second.leave()
        assert await people_on(mia) == []


async def test_somebody_whose_process_was_killed_is_gone_after_a_while() -> None:
    moments, conversation_id = [datetime(2026, 1, 1, tzinfo=UTC)], uuid4()
    here = Presence(Bus(), lambda: moments[-1])
    here.hear(conversation_id, {"here": {"member": "2", "name": "Ben"}})
    assert here.people(conversation_id) == (BEN,)
    moments.append(moments[0] + LASTS)
    assert here.people(conversation_id) == ()


async def test_typing_hints_are_thinned_out_and_never_stored(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        mia = Page(play, person=MIA)
        await mia.take(1)
        for _ in range(5):
            await play.runtime.presence.type(play.conversation_id, BEN)
        play.skipped += TYPING_PAUSE
        await play.runtime.presence.type(play.conversation_id, BEN)
        await note(play, "over")
        heard = await mia.until(lambda event: event["event"] == "text")
        assert [event["event"] for event in heard].count("typing") == 2


async def note(play: Story, text: str) -> None:
    """Something that every page hears."""
    await play.runtime.bus.publish(f"conversation:{play.conversation_id}", {"run": "1", "offset": 0, "text": text})
