"""Links with which anybody reads one conversation: what they show, and what nobody learns from them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tavernkit.playground.base.database.models import Character, User
from tavernkit.playground.edge.presenting.shared_story import MESSAGES_PER_PAGE
from tavernkit.playground.edge.web.address_limits import AddressLimits
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import add_swipe, hide_message, send_message
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tavernkit.playground.story.shared_links.service import MOST_LINKS
from tests.playground.characters.builders import picture
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.scripts.test_display import keep, script
from tests.playground.stories import Story
from tests.playground.support.web import ORIGIN, api_client, web_app

pytestmark = pytest.mark.anyio


async def shared(story: Story, conversation_id: UUID | None = None, **link: Any) -> tuple[str, str]:
    """The address and the id of a new link."""
    async with api_client(story.runtime, story.user_id) as api:
        made = await api.post(f"/conversations/{conversation_id or story.conversation_id}/shared_links", json=link)
    assert made.status_code == 201, made.text
    return made.json()["path"], made.json()["id"]


@asynccontextmanager
async def reader(story: Story, limits: AddressLimits | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that knows nothing but the address."""
    app = web_app(story.runtime, story.user_id)
    app.state.reading_limits = limits or AddressLimits()
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ORIGIN) as client:
        yield client


async def test_a_link_shows_what_a_reader_reads_and_nothing_else(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        said = await story.say_as("Ada", "A *cat* <script>alert(1)</script>![](/api/v1/blobs/" + "0" * 64 + ")")
        await add_swipe(story.runtime, story.viewer, said.id, swipe_id=uuid4(), content="Not shown.", activate=False)
        await story.say_as("Robin", "See ![her](/api/v1/characters/11111111-1111-1111-1111-111111111111/avatar).")
        await story.say_as("Ada", "Beside the story.", visibility="excluded")
        gone = await story.say_as("Ada", "Deleted.")
        await hide_message(story.runtime, story.viewer, gone.id)
        await keep(story, script("/cat/g", "tiger", markdownOnly=True))
        address, _ = await shared(story)
        async with reader(story) as client:
            answer = await client.get(address)
        page = answer.text
        assert answer.status_code == 200
        assert "A <em>tiger</em>" in page
        assert re.findall(r'class="message-author">(\w+)<', page) == ["Ada", "Robin"]
        unwanted = ("Not shown.", "Beside the story.", "Deleted.", "alert(1)", "/api/v1/", "11111111", "<script")
        forms = ("<button", "<form", "<input")
        ids = [str(id) for id in (story.conversation_id, story.space_id, said.id, said.membership_id, story.user_id)]
        assert [text for text in (*unwanted, *forms, *ids) if text in page] == []
        assert "set-cookie" not in answer.headers
        assert answer.headers["x-robots-tag"] == "noindex, nofollow"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


async def test_a_link_that_is_over_answers_like_one_that_never_was(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        revoked, id = await shared(story)
        expired, _ = await shared(story, days=1)
        lasting, _ = await shared(story, days=None)
        async with reader(story) as client:
            assert [(await client.get(path)).status_code for path in (revoked, expired, lasting)] == [200] * 3
            async with api_client(story.runtime, story.user_id) as api:
                assert (await api.delete(f"/shared_links/{id}")).status_code == 204
                assert (await api.delete(f"/shared_links/{id}")).status_code == 404
                story.skipped = timedelta(days=1, seconds=1)
                left = await api.get(f"/conversations/{story.conversation_id}/shared_links")
            assert [link["expires_at"] for link in left.json()["items"]] == [None]
            assert "token" not in left.text
            never = await client.get("/shared/" + "x" * 32)
            for path in (revoked, expired, f"{lasting}?page=2", f"{lasting}/branches/x"):
                answer = await client.get(path)
                assert (answer.status_code, answer.text, answer.headers) == (404, never.text, never.headers)
            assert (await client.get(lasting)).status_code == 200
            # A link works no longer than the account of who made it.
            await story.columns(User, story.user_id, status="inactive")
            assert (await client.get(lasting)).text == never.text


async def test_a_link_to_what_is_in_the_trash_works_again_once_it_is_restored(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        first = await story.say_as("Ada", "The door opens.")
        branch = await fork(story.runtime, story.viewer, story.conversation_id, first.id, title="By the sea")
        address, _ = await shared(story, branch.id)
        tree, _ = await shared(story, with_branches=True)
        async with reader(story) as client, api_client(story.runtime, story.user_id) as api:
            never = await client.get("/shared/" + "x" * 32)
            for kind, id in (("conversation", branch.id), ("space", story.space_id)):
                assert (await api.delete(f"/{kind}s/{id}")).status_code == 204
                answer = await client.get(address)
                assert (answer.status_code, answer.text, answer.headers) == (404, never.text, never.headers)
                assert "By the sea" not in (await client.get(tree)).text
                assert (await api.post(f"/trash/{kind}/{id}/restore")).status_code == 204
                assert (await client.get(address)).status_code == 200
                assert "By the sea" in (await client.get(tree)).text


async def test_a_link_to_what_is_archived_still_works(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        await story.say_as("Ada", "The door opens.")
        address, _ = await shared(story)
        async with reader(story) as client, api_client(story.runtime, story.user_id) as api:
            for path in (f"/conversations/{story.conversation_id}", f"/spaces/{story.space_id}"):
                archive = {"settings_version": (await api.get(path)).json()["settings_version"], "archived": True}
                assert (await api.patch(path, json=archive)).status_code == 200
                assert "The door opens." in (await client.get(address)).text


async def test_branches_are_read_only_where_the_link_has_them(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        first = await story.say_as("Ada", "The door opens.")
        for title, visibility in (("By the sea", "shared"), ("Secret", "private")):
            await fork(story.runtime, story.viewer, story.conversation_id, first.id, title=title, visibility=visibility)
        alone, _ = await shared(story)
        together, _ = await shared(story, with_branches=True)
        async with reader(story) as client:
            assert "By the sea" not in (await client.get(alone)).text
            page = (await client.get(together)).text
            assert "Secret" not in page
            (branch,) = re.findall(r'href="(/shared/[^"]+/branches/\w+)"', page)
            there = await client.get(branch)
            assert (there.status_code, "The door opens." in there.text) == (200, True)
            assert (await client.get(branch.replace(together, alone))).status_code == 404


async def test_a_link_to_a_branch_does_not_show_where_it_came_from(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        first = await story.say_as("Ada", "The door opens.")
        branch = await fork(story.runtime, story.viewer, story.conversation_id, first.id, title="By the sea")
        await story.say_as("Ada", "Only in the other one.")
        address, _ = await shared(story, branch.id, with_branches=True)
        async with reader(story) as client:
            page = (await client.get(address)).text
        assert "The door opens." in page
        assert "Only in the other one." not in page
        assert "/branches/" not in page


async def test_pictures_are_seen_through_the_link_and_no_others(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards={"Ada": {}, "Silent": {}}) as story:
        seen = [await uploaded(story, "red"), await uploaded(story, "blue")]
        await say_with_picture(story, seen[0])
        hidden = await say_with_picture(story, seen[1])
        await hide_message(story.runtime, story.viewer, hidden)
        await story.say_as("Ada", "Hello.")
        portraits = [await portrait(story, name, colour) for name, colour in (("Ada", "green"), ("Silent", "pink"))]
        address, id = await shared(story)
        async with reader(story) as client:
            page = (await client.get(address)).text
            assert set(re.findall(r'<img [^>]*src="([^"]+)"', page)) == {
                f"{address}/pictures/{sha256}" for sha256 in (seen[0][1], portraits[0])
            }
            for sha256, status in ((seen[0][1], 200), (portraits[0], 200), (seen[1][1], 404), (portraits[1], 404)):
                assert (await client.get(f"{address}/pictures/{sha256}")).status_code == status
            async with api_client(story.runtime, story.user_id) as api:
                await api.delete(f"/shared_links/{id}")
            assert (await client.get(f"{address}/pictures/{portraits[0]}")).status_code == 404


async def uploaded(story: PromptStory, colour: str) -> tuple[UUID, str]:
    row = await upload_picture(story.runtime, story.viewer, story.conversation_id, picture(colour), title=colour)
    return row.id, row.sha256


async def say_with_picture(story: PromptStory, row: tuple[UUID, str]) -> UUID:
    sent = await send_message(
        story.runtime,
        story.viewer,
        story.conversation_id,
        message_id=uuid4(),
        content="Look.",
        role="system",
        pictures=[PictureIn(id=row[0])],
    )
    return sent.id


async def portrait(story: PromptStory, name: str, colour: str) -> str:
    character_id = story.member(name).character_id
    assert character_id is not None
    async with api_client(story.runtime, story.user_id) as api:
        changed = await api.put(
            f"/characters/{character_id}/avatar?version=1", files={"file": ("a.png", picture(colour), "image/png")}
        )
    assert changed.status_code == 200, changed.text
    return str((await story.row(Character, character_id)).thumbnail_sha256)


async def test_a_long_story_has_pages(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        for number in range(1, MESSAGES_PER_PAGE + 2):
            await story.say_as("Ada", f"Line {number}.")
        address, _ = await shared(story)
        async with reader(story) as client:
            first, second = await client.get(address), await client.get(f"{address}?page=2")
            assert (await client.get(f"{address}?page=3")).status_code == 404
        assert re.findall(r"Line (\d+)\.", first.text) == [str(number) for number in range(1, MESSAGES_PER_PAGE + 1)]
        assert f'href="{address}?page=2"' in first.text
        assert re.findall(r"Line (\d+)\.", second.text) == [str(MESSAGES_PER_PAGE + 1)]


async def test_an_address_that_asks_too_often_waits_whatever_it_asks_for(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        address, _ = await shared(story)
        async with reader(story, AddressLimits(amount=2)) as client:
            assert [(await client.get(path)).status_code for path in (address, "/shared/x")] == [200, 404]
            refused, wrong = await client.get(address), await client.get("/shared/x")
            assert (refused.status_code, wrong.status_code) == (429, 429)
            assert 0 < int(refused.headers["retry-after"]) <= 60
            story.skipped = timedelta(minutes=1)
            assert (await client.get(address)).status_code == 200


async def test_a_conversation_has_a_limited_number_of_links(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        for _ in range(MOST_LINKS):
            await shared(story, days=1)
        async with api_client(story.runtime, story.user_id) as api:
            path = f"/conversations/{story.conversation_id}/shared_links"
            assert (await api.post(path, json={})).status_code == 409
            assert (await api.post(path, json={"days": 0})).status_code == 422
        # Those that are over make room.
        story.skipped = timedelta(days=2)
        await shared(story)
