"""Who may watch: what is for one person reaches nobody else, and who may read no more is told no more."""

import asyncio
import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tavernkit.playground.accounts.proof import Proof
from tavernkit.playground.accounts.sessions import sign_out
from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.conversations.service import change_conversation
from tavernkit.playground.database import announce
from tavernkit.playground.database.models import User
from tavernkit.playground.llm.scripted import ScriptedModel
from tavernkit.playground.members.service import add_member, remove_member
from tavernkit.playground.outcome import Refused
from tavernkit.playground.realtime.bus import conversation_topic, user_topic
from tavernkit.playground.realtime.watching import still_watching, watched_conversation
from tavernkit.playground.spaces.service import create_space
from tests.playground.accounts.house import House, open_house
from tests.playground.playing import Play, playing
from tests.playground.realtime.listening import Page

pytestmark = pytest.mark.anyio

SOON = 0.02


async def suggest(play: Play, user_id: UUID, conversation_id: UUID, text: str) -> None:
    async with play.runtime.database.write() as session:
        announce(session, user_topic(user_id), copilot={"text": text}, conversation=str(conversation_id))


async def test_a_suggestion_reaches_the_pages_of_the_person_it_is_for(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        tabs, other = [Page(play), Page(play)], Page(play, user_id=uuid4())
        for page in (*tabs, other):
            await page.take(1)
        await suggest(play, play.user_id, play.conversation_id, "Ask her about the lamp.")
        for page in tabs:
            (event,) = await page.take(1)
            item = {"copilot": {"text": "Ask her about the lamp."}, "conversation": str(play.conversation_id)}
            assert (event["event"], json.loads(event["data"]), "id" in event) == ("copilot", item, False)
        await play.say()
        assert [event["event"] for event in await other.take(2)] == ["streams", "streams"]


async def test_a_suggestion_stays_in_its_conversation_and_other_news_of_a_person_are_no_events(
    database_url: str, tmp_path: Path
) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        page = Page(play)
        await page.take(1)
        await suggest(play, play.user_id, uuid4(), "Elsewhere.")
        await play.runtime.bus.publish(user_topic(play.user_id), {"job": str(uuid4())})
        await suggest(play, play.user_id, play.conversation_id, "Here.")
        (event,) = await page.take(1)
        assert json.loads(event["data"])["copilot"] == {"text": "Here."}


async def test_a_long_suggestion_arrives_whole(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        page = Page(play)
        await page.take(1)
        await suggest(play, play.user_id, play.conversation_id, "A long story. " * 5_000)
        (event,) = await page.take(1)
        assert json.loads(event["data"])["copilot"] == {"text": "A long story. " * 5_000}


async def watched(house: House, viewer: Viewer, token: str) -> Page:
    """The page of somebody who has signed in, which looks often whether they may still read."""
    play = house.play
    allowed = still_watching(play.runtime, viewer, Proof(session=token), play.user_id, play.conversation_id)
    page = Page(play, user_id=viewer.user_id, is_welcome=allowed, keep_alive=SOON)
    await page.take(1)
    return page


async def test_a_stream_ends_with_the_session_that_opened_it(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        ended, other = await house.token(owner), await house.token(owner)
        page, elsewhere = await watched(house, owner, ended), await watched(house, owner, other)
        await asyncio.sleep(3 * SOON)
        await sign_out(house.runtime, ended)
        assert await page.rest() == []
        await house.play.say()
        assert len(await elsewhere.take(2)) == 2


async def test_a_stream_ends_for_who_is_taken_out_of_the_space(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner, guest = await house.owner_with_password(), await house.add("Greta")
        opened = await create_space(house.runtime, owner, kind="discussion")
        assert not isinstance(opened, Refused)
        house.play.conversation_id = opened.conversation.id
        assert await missing(house, guest)
        member = await add_member(house.runtime, owner, opened.space.id, user_id=guest.user_id)
        assert not isinstance(member, Refused)
        assert not await missing(house, guest)
        page = await watched(house, guest, await house.token(guest))
        await remove_member(house.runtime, owner, member.id)
        await page.rest()
        assert await missing(house, guest)


async def test_a_stream_ends_when_the_conversation_is_closed_to_others(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner, passer_by = await house.owner_with_password(), await house.add("Pavel")
        conversation_id = house.play.conversation_id
        change = await change_conversation(
            house.runtime, owner, conversation_id, settings_version=0, visibility="public"
        )
        assert not isinstance(change, Refused)
        page = await watched(house, passer_by, await house.token(passer_by))
        await change_conversation(
            house.runtime, owner, conversation_id, settings_version=change.settings_version, visibility="private"
        )
        await page.rest()


async def test_a_stream_ends_with_the_account(database_url: str, tmp_path: Path) -> None:
    async with open_house(database_url, tmp_path) as house:
        owner = await house.owner_with_password()
        page = await watched(house, owner, await house.token(owner))
        async with house.runtime.database.write() as session:
            (await session.get_one(User, owner.user_id)).status = "inactive"
        await page.rest()


async def test_who_is_not_welcome_any_more_is_not_told_what_happens_then(database_url: str, tmp_path: Path) -> None:
    async with playing(database_url, tmp_path, ScriptedModel()) as play:
        asked: list[bool] = []

        async def only_at_first() -> bool:
            asked.append(True)
            return len(asked) < 3

        page = Page(play, is_welcome=only_at_first, keep_alive=SOON)
        listening = asyncio.ensure_future(page.rest())
        while not listening.done():
            await play.runtime.bus.publish(
                conversation_topic(play.conversation_id), {"run": "1", "offset": len(asked), "text": "a"}
            )
            await asyncio.sleep(SOON / 4)
        offsets = [json.loads(event["data"])["offset"] for event in await listening if event["event"] == "text"]
        assert max(offsets) <= 2
        assert len(asked) == 3


async def missing(house: House, viewer: Viewer) -> bool:
    return isinstance(await watched_conversation(house.runtime, viewer, house.play.conversation_id), Refused)
