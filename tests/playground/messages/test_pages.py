"""Messages on the chat page, as a browser without scripts uses it, and one that takes streams."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, SpaceMembership
from tavernkit.playground.edge.web.streams import CONTENT_TYPE
from tavernkit.playground.story.messages.service import add_swipe
from tests.characters import card_files
from tests.playground.accounts.installation import Installation, open_installation
from tests.playground.characters.builders import picture
from tests.playground.messages.people import somebody
from tests.playground.stories import Story
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": f"{CONTENT_TYPE}, text/html"}
ACTIONS = ("edit", "regenerate", "continue", "branch", "checkpoint", "exclude", "include", "hide")


@asynccontextmanager
async def message_pages(url: str, folder: Path) -> AsyncIterator[tuple[Story, Installation, httpx2.AsyncClient]]:
    """A story, the installation that it is told in, and the owner's browser."""
    async with open_installation(url, folder) as installation:
        yield (
            Story(installation.runtime, installation.play.user_id, installation.play.conversation_id),
            installation,
            installation.browser(),
        )


async def begun_with(installation: Installation, browser: httpx2.AsyncClient, file: bytes) -> Story:
    """A story with the character of a card file."""
    card = ("card.charx", file, "application/octet-stream")
    brought = (await browser.post("/api/v1/characters", files={"file": card})).json()["character"]
    begun = await browser.post(f"/characters/{brought['id']}/stories")
    conversation_id = UUID(begun.headers["location"].removeprefix("/conversations/"))
    return Story(installation.runtime, installation.play.user_id, conversation_id)


def smiling(name: str, image: bytes) -> bytes:
    """A card whose character smiles in three ways at once."""
    asset = {"type": "emotion", "uri": "embeded://assets/smile.png", "name": "smile", "ext": "png"}
    first = "![one](smile) ![two](embeded://assets/smile.png) <img src='smile.png' alt='three'> ![four](frown)"
    return card_files.charx(card_files.v3(name=name, first_mes=first, assets=[asset]), **{"assets/smile.png": image})


def drawn(page: str, message_id: UUID) -> str:
    """One message out of a page."""
    found = re.search(rf'<li id="message_{message_id}".*?</li>', page, re.DOTALL)
    assert found is not None, page
    return found[0]


def offered(html: str) -> set[str]:
    """What can be done with a message."""
    return {name for name in ACTIONS if re.search(rf'"/messages/[^"/]+/{name}"', html)}


async def test_the_owner_may_do_everything_with_every_message(database_url: str, tmp_path: Path) -> None:
    async with message_pages(database_url, tmp_path) as (story, _, browser):
        greeting = (await story.rows())[0]
        (told,) = await story.narrate("It rains.")
        page = (await browser.get(f"/conversations/{story.conversation_id}")).text
        everything = {"edit", "branch", "checkpoint", "exclude", "hide"}
        assert offered(drawn(page, told.id)) == everything
        assert offered(drawn(page, greeting.id)) == everything | {"regenerate", "continue"}
        assert 'id="composer_text"' in page


async def test_others_are_offered_only_what_they_may_do(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, installation, _):
        greeting = (await story.rows())[0]
        (told,) = await story.narrate("It rains.")
        address = f"/conversations/{story.conversation_id}"
        browser = await installation.signed_in(await somebody(story))
        sent = await browser.post(f"{address}/messages", data={"content": "Hello."}, headers=STREAMS)
        assert offered(sent.text) == {"edit", "branch", "exclude", "hide"}
        page = (await browser.get(address)).text
        assert 'id="composer_text"' in page
        assert offered(drawn(page, told.id)) == {"branch", "exclude"}
        assert offered(drawn(page, greeting.id)) == {"regenerate", "continue", "branch", "exclude"}
        assert "Create branch" in page
        assert (await browser.get(f"/messages/{told.id}/edit")).status_code == 403
        assert (await browser.post(f"/messages/{told.id}/hide")).status_code == 403
        browser = await installation.signed_in(await somebody(story, role="moderator"))
        page = (await browser.get(address)).text
        assert {"edit", "hide"} <= offered(drawn(page, told.id))
        browser = await installation.signed_in(await somebody(story, participation="observer"))
        page = (await browser.get(address)).text
        assert offered(page) == set()
        assert 'id="composer_text"' not in page
        assert (await browser.get(f"{address}/older", params={"before": 2})).status_code == 200
        browser = await installation.signed_in(await somebody(story, role=None))
        assert (await browser.get(address)).status_code == 404
        assert (await browser.get(f"/messages/{told.id}/edit")).status_code == 404


async def test_an_owner_who_only_watches_has_no_composer_and_cannot_send(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        address = f"/conversations/{story.conversation_id}"
        async with story.runtime.database.write() as session:
            own = select(SpaceMembership).where(SpaceMembership.user_id == story.user_id)
            (await session.scalars(own)).one().participation = "observer"
        assert 'id="composer_text"' not in (await browser.get(address)).text
        before = len(await story.rows())
        sent = await browser.post(f"{address}/messages", data={"content": "Hello."}, headers=STREAMS)
        assert sent.status_code == 403
        assert "You are an observer here. Set your participation to active to write." in sent.text
        assert len(await story.rows()) == before


async def test_an_archived_conversation_is_read_and_branched_but_not_changed(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        greeting = (await story.rows())[0]
        async with story.runtime.database.write() as session:
            (await session.get_one(Conversation, story.conversation_id)).status = "archived"
        page = (await browser.get(f"/conversations/{story.conversation_id}")).text
        assert offered(drawn(page, greeting.id)) == {"branch", "checkpoint"}
        assert 'id="composer_text"' not in page


async def test_a_message_is_edited_without_scripts(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains <b>hard</b>.")
        form = (await browser.get(f"/messages/{told.id}/edit")).text
        assert "It rains &lt;b&gt;hard&lt;/b&gt;.</textarea>" in form
        assert 'name="revision" value="1"' in form
        saved = await browser.post(f"/messages/{told.id}", data={"content": "It snows.", "revision": 1})
        assert saved.status_code == 303
        assert saved.headers["location"] == f"/conversations/{story.conversation_id}#message_{told.id}"
        assert await story.shown() == ["It snows."]


async def test_what_was_typed_stays_when_it_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        await browser.post(f"/messages/{told.id}", data={"content": "It hails.", "revision": 1})
        stale = await browser.post(f"/messages/{told.id}", data={"content": "It snows.", "revision": 1})
        assert stale.status_code == 409
        assert "It snows.</textarea>" in stale.text
        assert "It hails.</blockquote>" in stale.text
        assert 'name="revision" value="2"' in stale.text
        blank = await browser.post(f"/messages/{told.id}", data={"content": " ", "revision": 2})
        assert (blank.status_code, 'role="alert"' in blank.text) == (422, True)
        again = await browser.post(f"/messages/{told.id}", data={"content": "It snows.", "revision": 2})
        assert again.status_code == 303
        assert await story.shown() == ["It snows."]


async def test_streams_leave_the_box_alone_when_it_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        await browser.post(f"/messages/{told.id}", data={"content": "It hails.", "revision": 1})
        data = {"content": "It snows.", "revision": 1}
        stale = await browser.post(f"/messages/{told.id}", data=data, headers=STREAMS)
        assert (stale.status_code, stale.headers["content-type"].split(";")[0]) == (409, CONTENT_TYPE)
        assert f'target="edit_{told.id}_note"' in stale.text
        assert "textarea" not in stale.text
        saved = await browser.post(f"/messages/{told.id}", data={**data, "revision": 2}, headers=STREAMS)
        assert re.findall(r'action="(\w+)" target="(\w+)_', saved.text) == [("remove", "edit"), ("replace", "message")]


async def test_a_deleted_message_comes_back(database_url: str, tmp_path: Path) -> None:
    async with message_pages(database_url, tmp_path) as (story, _, browser):
        first, _ = await story.narrate("It rains.", "It stops.")
        hidden = await browser.post(f"/messages/{first.id}/hide")
        page = (await browser.get(hidden.headers["location"])).text
        assert f"message_{first.id}" not in page
        assert f'action="/messages/{first.id}/restore"' in page
        back = await browser.post(f"/messages/{first.id}/restore")
        assert back.headers["location"].endswith(f"#message_{first.id}")
        assert await story.shown() == ["It rains.", "It stops."]
        gone = await browser.post(f"/messages/{first.id}/hide", headers=STREAMS)
        assert f'<turbo-stream action="remove" target="message_{first.id}">' in gone.text
        assert f"/messages/{first.id}/restore" in gone.text


async def test_excluding_is_said_and_taken_back(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        out = await browser.post(f"/messages/{told.id}/exclude", headers=STREAMS)
        assert ("Excluded from prompt" in out.text, "include" in offered(out.text)) == (True, True)
        back = await browser.post(f"/messages/{told.id}/include", headers=STREAMS)
        assert ("Excluded from prompt" in back.text, "exclude" in offered(back.text)) == (False, True)


async def test_versions_are_counted_and_chosen(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        await add_swipe(story.runtime, story.viewer, told.id, swipe_id=story.runtime.ids(), content="It snows.")
        left = await browser.post(f"/messages/{told.id}/swipe", data={"to": "left"}, headers=STREAMS)
        assert "Swipe 1 of 2" in left.text
        assert "It rains." in left.text
        await browser.post(f"/messages/{told.id}/swipe", data={"to": "right"})
        assert await story.shown() == ["It snows."]
        assert (await browser.post(f"/messages/{told.id}/swipe", data={"to": "up"})).status_code == 422


async def test_reasoning_is_folded_and_escaped(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        async with story.runtime.database.write() as session:
            message = await session.get_one(Message, told.id)
            swipe = await session.get_one(MessageSwipe, message.active_swipe_id)
            swipe.metadata_ = {"reasoning": "<script>rain</script>"}
        page = (await browser.get(f"/conversations/{story.conversation_id}")).text
        shown = drawn(page, told.id)
        assert '<details class="reasoning">' in shown
        assert "&lt;script&gt;rain" in shown


async def test_a_branch_and_a_checkpoint_are_made_from_a_message(database_url: str, tmp_path: Path) -> None:
    async with message_pages(database_url, tmp_path) as (story, _, browser):
        first, _ = await story.narrate("It rains.", "It stops.")
        branched = await browser.post(f"/messages/{first.id}/branch", headers=STREAMS)
        assert branched.status_code == 303
        branch = UUID(branched.headers["location"].removeprefix("/conversations/"))
        assert ((await story.conversation(branch)).kind, await story.shown(branch)) == ("branch", ["It rains."])
        kept = await browser.post(f"/messages/{first.id}/checkpoint", headers=STREAMS)
        place = re.search(r'href="/conversations/([^"]+)"', kept.text)
        assert place is not None
        assert (await story.conversation(UUID(place[1]))).kind == "checkpoint"


async def test_the_last_reply_is_told_anew_here_and_an_earlier_one_in_a_branch(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        greeting = (await story.rows())[0]
        here = await browser.post(f"/messages/{greeting.id}/regenerate", headers=STREAMS)
        assert (here.status_code, 'id="stop_form"' in here.text) == (200, True)
        async with story.working():
            await story.until(lambda run: run.status == "succeeded")
        assert (await story.message(greeting.id)).swipes_count == greeting.swipes_count + 1
        await story.narrate("It rains.")
        there = await browser.post(f"/messages/{greeting.id}/regenerate", headers=STREAMS)
        assert there.status_code == 303
        assert there.headers["location"] != f"/conversations/{story.conversation_id}"
        assert there.headers["location"].startswith("/conversations/")


async def test_a_refusal_is_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        for headers in ({}, STREAMS):
            refused = await browser.post(f"/messages/{told.id}/continue", headers=headers)
            assert refused.status_code == 409
            assert "so it cannot be continued" in refused.text


async def test_a_message_has_an_address(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        (told,) = await story.narrate("It rains.")
        led = await browser.get(f"/messages/{told.id}")
        assert led.headers["location"] == f"/conversations/{story.conversation_id}#message_{told.id}"
        frame = await browser.get(f"/messages/{told.id}", headers={"Turbo-Frame": f"text_{told.id}"})
        assert frame.text.count("<turbo-frame") == 1
        assert "It rains." in frame.text


async def test_a_page_takes_the_same_statements_however_much_was_said(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (story, _, browser):
        counts = []
        for length in (3, 60):
            told = await story.narrate(*(f"Line {number}." for number in range(length)))
            address = f"/conversations/{story.conversation_id}"
            for path in (address, f"{address}/older?before={told[-1].seq}"):
                await browser.get(path)
                with counted_statements(story.runtime.database) as sent:
                    assert (await browser.get(path)).status_code == 200
                counts.append(len(sent))
        assert counts[:2] == counts[2:]
        assert max(counts) < 20


async def test_a_character_shows_the_pictures_of_its_own_card(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (_, installation, browser):
        for name, image in (("Mira", picture("teal")), ("Mara", picture("red"))):
            story = await begun_with(installation, browser, smiling(name, image))
            greeting = (await story.rows())[0]
            page = (await browser.get(f"/conversations/{story.conversation_id}")).text
            shown = re.findall(r'<img src="(/api/v1/blobs/[^"]+)" alt="(\w+)"', drawn(page, greeting.id))
            assert [words for _, words in shown] == ["one", "two", "three"]
            # The other card says the same words, and means another picture.
            assert {(await browser.get(address)).content for address, _ in shown} == {image}
            assert "four" in drawn(page, greeting.id)


async def test_pictures_are_looked_up_once_for_a_page(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (_, installation, browser):
        story = await begun_with(installation, browser, smiling("Mira", picture()))
        address = f"/conversations/{story.conversation_id}"
        # Cards are read once, for the scripts in them.
        await browser.get(address)
        with counted_statements(story.runtime.database) as alone:
            await browser.get(address)
        told = await story.narrate(*(f"![{number}](smile)" for number in range(15)))
        async with story.runtime.database.write() as session:
            speaker = select(SpaceMembership.id).where(SpaceMembership.cached_display_name == "Mira")
            say = update(Message).where(Message.id.in_([message.id for message in told]))
            await session.execute(say.values(membership_id=speaker.scalar_subquery()))
        with counted_statements(story.runtime.database) as many:
            page = (await browser.get(address)).text
        assert page.count('<img src="/api/v1/blobs/') >= 15
        assert len(many) == len(alone)


async def test_a_reply_says_with_how_much_lore_it_was_written(sqlite_url: str, tmp_path: Path) -> None:
    async with message_pages(sqlite_url, tmp_path) as (_, installation, browser):
        story = await begun_with(installation, browser, card_files.charx(card_files.v3()))
        async with story.working():
            for words, entries in (("It is late.", 0), ("A gear is missing.", 1)):
                await story.say(words)
                run = await story.until(lambda run: run.status == "succeeded")
                page = (await browser.get(f"/conversations/{story.conversation_id}")).text
                reply = drawn(page, (await story.rows())[-1].id)
                assert f'href="/runs/{run.id}"' in reply
                assert reply.count(f'href="/runs/{run.id}#lore_heading"') == entries
        assert "1 entry activated" in re.sub(r"<[^>]+>", "", reply)
        record = (await browser.get(f"/runs/{run.id}")).text
        assert 'id="lore_heading"' in record
        reply = (await browser.get(f"/runs/{run.id}?tab=reply")).text
        assert '<dt>Lore</dt><dd dir="auto">1 entry</dd>' in reply
