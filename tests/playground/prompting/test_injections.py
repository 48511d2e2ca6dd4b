"""Injections: texts that go into every prompt of a conversation, or into one."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import ConversationInjection, Message
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.messages.service import hide_message
from tavernkit.playground.story.paths.injections import MAX_INJECTIONS, InjectionIn, list_injections, put_injection
from tests.playground.prompting.prompt_story import PromptStory, lines, prompt_story, texts
from tests.playground.spaces.panel import words
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio


async def inject(story: PromptStory, name: str, content: str, **fields: Any) -> ConversationInjection:
    new = InjectionIn(content=content, **fields)
    return await put_injection(story.runtime, story.viewer, story.conversation_id, name, new)


async def names(story: PromptStory) -> list[str]:
    return [row.name for row in await list_injections(story.runtime, story.viewer, story.conversation_id)]


def sent(story: PromptStory) -> str:
    """What the messages of the last request say."""
    return "\n".join(str(message["content"]) for message in story.model.requests[-1].messages)


async def test_an_injection_stands_in_every_prompt_where_it_says(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await story.say_as("Robin", "One.")
        await story.say_as("Robin", "Two.")
        await inject(story, "weather", "{{user}} feels rain.", depth=1, role="user")
        await inject(story, "nowhere", "Unsent.", position="none")
        assert lines(await story.prompt("Ada")) == [("user", "One."), ("user", "Robin feels rain."), ("user", "Two.")]
        assert "Unsent." not in texts(await story.prompt("Ada"))
        await story.set(prompt={"platform": "risuai"})
        assert "Robin feels rain." in texts(await story.prompt("Ada"))


async def test_lore_is_found_in_an_injection_that_is_scanned(sqlite_url: str, tmp_path: Path) -> None:
    book = {"entries": [{"id": 1, "keys": ["ice"], "content": "It freezes."}]}
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": {"character_book": book}}) as story:
        await story.say_as("Robin", "Hello?")
        await inject(story, "weather", "There is ice.", position="none")
        assert "It freezes." not in texts(await story.prompt("Ada"))
        await inject(story, "weather", "There is ice.", position="none", scan=True)
        assert "It freezes." in texts(await story.prompt("Ada"))


async def test_an_ephemeral_injection_goes_into_one_prompt(database_url: str, tmp_path: Path) -> None:
    failure = ModelError("The model is away.", code="unavailable")
    async with prompt_story(database_url, tmp_path, failure, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        await inject(story, "hint", "Be kind.", ephemeral=True)
        await inject(story, "rule", "Be brief.")
        # A reply that failed has not used it: who tries again asks the same.
        assert (await story.answered("Ada")).status == "failed"
        assert await names(story) == ["hint", "rule"]
        await story.answered("Ada")
        assert "Be kind.\nBe brief." in sent(story)
        assert await names(story) == ["rule"]
        await story.answered("Ada")
        assert "Be kind." not in sent(story)
        assert "Be brief." in sent(story)
        # Set again, it is there once more.
        await inject(story, "hint", "Be kinder.", ephemeral=True)
        await story.answered("Ada")
        assert "Be kinder." in sent(story)
        assert await names(story) == ["rule"]


async def test_a_reply_that_is_regenerated_or_deleted_has_its_ephemeral_injection_again(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", "No.", "Maybe.") as story:
        await story.say_as("Robin", "Hello?")
        await inject(story, "hint", "Be kind.", ephemeral=True)
        await story.answered("Ada")
        reply = await story.last_swipe()
        await story.answered("Ada", kind="regenerate", target=reply.message_id)
        assert "Be kind." in sent(story)
        assert await names(story) == []
        await hide_message(story.runtime, story.viewer, reply.message_id)
        assert await names(story) == ["hint"]
        await story.answered("Ada")
        assert "Be kind." in sent(story)


async def test_a_branch_has_the_injections_and_those_that_were_used_behind_it(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.") as story:
        first = await story.say_as("Robin", "Hello?")
        second = await story.say_as("Robin", "Are you there?")
        await inject(story, "rule", "Be brief.")
        await inject(story, "hint", "Be kind.", ephemeral=True)
        await story.answered("Ada")
        reply: Message = await story.row(Message, (await story.last_swipe()).message_id)
        # Whoever leaves before the hint was given does not hear of it.
        for message, expected in ((first, ["rule"]), (second, ["hint", "rule"]), (reply, ["rule"])):
            child = await fork(story.runtime, story.viewer, story.conversation_id, message.id)
            rows = await list_injections(story.runtime, story.viewer, child.id)
            assert [row.name for row in rows] == expected


async def test_there_are_no_more_than_there_may_be_and_used_ones_make_room(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        for number in range(MAX_INJECTIONS):
            await inject(story, f"{number:03}", "Text.", ephemeral=number == 7)
        one_more = InjectionIn(content="One more.")
        adding = put_injection(story.runtime, story.viewer, story.conversation_id, "more", one_more)
        assert (await refusal_of(adding)).code == "conflict"
        await inject(story, "003", "Another text.")
        await story.say_as("Robin", "Hello?")
        await story.answered("Ada")
        await inject(story, "more", "One more.")
        async with story.runtime.database.read() as session:
            kept = await session.scalars(select(ConversationInjection.name))
            assert set(kept) == {*(f"{number:03}" for number in range(MAX_INJECTIONS) if number != 7), "more"}


async def test_injections_are_listed_set_and_removed_over_the_api(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        path = f"/conversations/{story.conversation_id}/injections"

        async def put(name: str, **body: Any) -> httpx2.Response:
            return await client.put(f"{path}/{name}", json=body)

        made = await put("a/b", content="It rains.", depth=0)
        assert made.json() == {
            "name": "a/b",
            "content": "It rains.",
            "position": "chat",
            "depth": 0,
            "role": "system",
            "scan": False,
            "ephemeral": False,
        }
        assert (await client.get(path)).json() == {"items": [made.json()]}
        refused = [await put("x", content=" "), await put("x", content="x", position="top"), await put("x" * 201)]
        assert [answer.status_code for answer in refused] == [422, 422, 422]
        assert (await client.delete(f"{path}/a/b")).status_code == 204
        assert (await client.delete(f"{path}/a/b")).status_code == 404
        assert (await client.get(path)).json() == {"items": []}


async def test_the_panel_shows_and_changes_injections(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        tab = f"/conversations/{story.conversation_id}/panel/prompt"
        assert "No injections." in (await client.get(tab)).text
        typed = {"name": "weather", "content": "It\r\nrains.", "depth": "2", "ephemeral": "on"}
        refused = await client.post(f"{tab}/injections", data={**typed, "depth": "far"})
        assert refused.status_code == 422
        assert "Depth must be" in refused.text
        assert 'value="weather"' in refused.text
        assert (await client.post(f"{tab}/injections", data=typed)).status_code == 303
        assert "weather In chat at depth · Depth 2 · System · Next prompt only" in words((await client.get(tab)).text)
        (row,) = await list_injections(story.runtime, story.viewer, story.conversation_id)
        assert row.content == "It\nrains."
        assert (await client.post(f"{tab}/injections/remove", data={"name": "weather"})).status_code == 303
        assert await names(story) == []
