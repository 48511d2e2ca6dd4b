"""Prompts over HTTP: what was sent, what has changed since, and what would be sent now."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models import Conversation, Provider, Space, SpaceMembership
from tavernkit.playground.story.conversations.forking import fork
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.spaces.cast import person
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

BOOK = {"name": "Harbour", "entries": [{"id": 1, "keys": ["ice"], "comment": "Winter", "content": "It freezes."}]}
TWO: dict[str, dict[str, Any]] = {"Ada": {"description": "Ada counts."}, "Bo": {"description": "Bo sails."}}


def asking_at(story: PromptStory) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    return api_client(story.runtime, story.user_id)


async def preview(client: httpx2.AsyncClient, story: PromptStory, status: int = 200, **body: Any) -> Any:
    answer = await client.post(f"/conversations/{story.conversation_id}/preview", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def told(prompt: Any) -> list[str]:
    return [message["content"] for message in prompt["request"]["messages"]]


async def test_a_prompt_is_shown_with_where_everything_came_from(database_url: str, tmp_path: Path) -> None:
    cards = {"Ada": {"character_book": BOOK}}
    async with prompt_story(database_url, tmp_path, "Yes.", cards=cards) as story, asking_at(story) as client:
        await story.say_as("Robin", "Is there ice?")
        run = await story.answered("Ada")
        shown = (await client.get(f"/runs/{run.id}/prompt")).json()
        (request,) = story.model.requests
    assert shown["run_id"] == str(run.id)
    assert shown["request"]["messages"] == list(request.messages)
    assert (shown["request"]["dialect"], shown["request"]["model"]) == ("openai", request.model)
    assert [block["content"] for block in shown["blocks"]] == told(shown)
    assert shown["blocks"][-1]["source"]["id"] == "message:0"
    assert shown["trimming"]["final_tokens"] <= shown["trimming"]["budget_tokens"]
    assert shown["lore"] == [
        {
            "book": "Harbour",
            "entry": "1",
            "name": "Winter",
            "reason": "activated",
            "sentence": "“ice” was found in the newest message",
        }
    ]
    assert [(block["content"], block["lore"]) for block in shown["blocks"] if block["lore"]] == [
        ("It freezes.", [{"book": "Harbour", "entry": "1", "name": "Winter", "cause": "key", "key": "ice"}])
    ]


async def test_pages_name_the_lore_entries_of_a_block_and_their_keys(sqlite_url: str, tmp_path: Path) -> None:
    always = {"id": 2, "keys": [], "constant": True, "comment": "Always", "content": "Fog."}
    cards = {"Ada": {"character_book": {**BOOK, "entries": [*BOOK["entries"], always]}}}
    async with (
        prompt_story(sqlite_url, tmp_path, "Yes.", cards=cards) as story,
        browser(story.runtime, story.user_id) as client,
    ):
        await story.say_as("Robin", "Is there ice?")
        preview = (await client.get(f"/conversations/{story.conversation_id}/preview")).text
        run = await story.answered("Ada")
        record = (await client.get(f"/runs/{run.id}")).text
    assert "Lore: Always (constant); Winter (key: ice)" in preview
    assert "Lore: Always (constant); Winter (key: ice)" in record


async def test_two_turns_are_compared(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.") as story, asking_at(story) as client:
        await story.say_as("Robin", "Hello?")
        first = await story.answered("Ada")
        await story.say_as("Robin", "And now?")
        second = await story.answered("Ada")
        path = f"/runs/{second.id}/prompt/compare"
        found = (await client.get(path, params={"with": str(first.id)})).json()
        nowhere = await client.get(path, params={"with": str(uuid4())})
        unsaid = await client.get(path)
    assert (found["before"], found["after"]) == (str(first.id), str(second.id))
    added = [change["block"]["content"] for change in found["changes"] if change["change"] == "added"]
    assert added == ["Yes.", "And now?"]
    assert not [change for change in found["changes"] if change["change"] == "removed"]
    assert (nowhere.status_code, unsaid.status_code) == (404, 422)


async def test_a_preview_is_what_is_sent_then(database_url: str, tmp_path: Path) -> None:
    cards = {"Ada": {"character_book": BOOK}}
    async with prompt_story(database_url, tmp_path, "Yes.", cards=cards) as story, asking_at(story) as client:
        await story.say_as("Robin", "Is there ice?")
        seen = await preview(client, story)
        run = await story.answered("Ada")
        sent = (await client.get(f"/runs/{run.id}/prompt")).json()
    assert seen["run_id"] is None
    assert {**seen, "run_id": sent["run_id"], "stages": sent["stages"]} == sent


async def test_a_run_shows_how_long_each_stage_of_its_prompt_took(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        async with asking_at(story) as client, browser(story.runtime, story.user_id) as pages:
            stages = (await client.get(f"/runs/{run.id}/prompt")).json()["stages"]
            page = (await pages.get(f"/runs/{run.id}?tab=reply")).text
    assert {"lore", "trimming"} <= {stage["name"] for stage in stages}
    assert all(stage["duration_ms"] >= 0 for stage in stages)
    assert "The prompt was built in" in page
    assert "<dt>trimming</dt>" in page


async def test_a_preview_writes_nothing_and_asks_no_model(database_url: str, tmp_path: Path) -> None:
    card = {"description": "{{setvar::mood::grim}}{{setglobalvar::age::9}}Look {{incvar::looks}}: {{getvar::mood}}."}
    async with prompt_story(database_url, tmp_path, cards={"Ada": card}) as story, asking_at(story) as client:
        await story.say_as("Robin", "Hello?")
        before = await everything(story)
        with counted_statements(story.runtime.database) as sent:
            first = await preview(client, story)
        second = await preview(client, story)
        impersonated = await preview(client, story, kind="impersonate")
        after = await everything(story)
        assert story.model.requests == []
    assert before == after
    assert {statement.split()[0] for statement in sent} == {"SELECT"}
    assert first == second
    assert "Look 1: grim." in told(first)
    assert impersonated["request"]["generation_type"] == "impersonate"


async def everything(story: PromptStory) -> dict[str, list[Any]]:
    """All rows of all tables; but for when somebody was seen last, which any request may note."""
    async with story.runtime.database.read() as session:
        return {
            each.name: sorted(map(repr, await session.execute(select(each))))
            for each in Base.metadata.sorted_tables
            if each.name not in ("sessions", "users")
        }


async def test_a_preview_is_of_the_conversation_that_was_asked_for(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story, asking_at(story) as client:
        first = await story.say_as("Robin", "One.")
        await story.say_as("Robin", "Two.")
        branch = await fork(story.runtime, story.viewer, story.conversation_id, first.id)
        assert isinstance(branch, Conversation)
        trunk = await preview(client, story)
        story.conversation_id = branch.id
        await story.say_as("Robin", "Another two.")
        forked = await preview(client, story)
    assert told(trunk)[-2:] == ["One.", "Two."]
    assert told(forked)[-2:] == ["One.", "Another two."]


async def test_a_preview_is_for_who_was_named_or_who_would_speak(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards=TWO) as story, asking_at(story) as client:
        await story.columns(Space, story.space_id, reply_order="list")
        await story.say_as("Robin", "Bo, are you there?")
        ada, bo = story.member("Ada").id, story.member("Bo").id
        by_list = await preview(client, story)
        named = await preview(client, story, speaker_id=str(bo))
        await story.columns(Space, story.space_id, reply_order="natural")
        mentioned = await preview(client, story)
        await story.columns(Space, story.space_id, reply_order="manual")
        await story.columns(SpaceMembership, ada, participation="muted")
        nobody_chosen = await preview(client, story)
        await story.plan("Ada")
        about_to = await preview(client, story)
    assert "Ada counts." in told(by_list)
    assert "Ada counts." in told(about_to)
    for prompt in (named, mentioned, nobody_chosen):
        assert "Bo sails." in told(prompt)


async def test_a_preview_may_go_on_or_speak_for_somebody(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, cards=TWO) as story, asking_at(story) as client:
        nothing = await preview(client, story, 409, kind="continue")
        await story.say_as("Robin", "Hello?")
        await story.say_as("Bo", "The tide is")
        going_on = await preview(client, story, kind="continue")
        robin = str(story.member("Robin").id)
        spoken_for = await preview(client, story, speaker_id=robin)
        wrong_person = await preview(client, story, 422, speaker_id=robin, kind="normal")
        stranger = await preview(client, story, 422, speaker_id=str(uuid4()))
    assert nothing["error"]["sentence"] == "The last message is not a reply, so it cannot be continued."
    assert "Bo sails." in told(going_on)
    assert going_on["request"]["generation_type"] == "continue"
    assert spoken_for["request"]["generation_type"] == "impersonate"
    assert wrong_person["error"]["code"] == stranger["error"]["code"] == "invalid"


async def test_a_preview_says_what_is_missing(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story, asking_at(story) as client:
        async with story.runtime.database.read() as session:
            providers = list(await session.scalars(select(Provider.id)))
        for provider_id in providers:
            await story.columns(Provider, provider_id, disabled=True)
        no_model = await preview(client, story, 409)
        await story.columns(SpaceMembership, story.member("Ada").id, status="removed")
        nobody = await preview(client, story, 409)
    assert no_model["error"]["sentence"] == "No model is installed. Add a model."
    assert nobody["error"]["sentence"] == "No character can reply. Add one to the space."


async def test_prompts_are_for_members(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        stranger = (await person(story)).user_id
        async with api_client(story.runtime, stranger) as client:
            assert (await client.get(f"/runs/{run.id}/prompt")).status_code == 404
            assert (await preview(client, story, 404))["error"]["code"] == "not_found"
            await story.columns(Conversation, story.conversation_id, visibility="public")
            # They read the story, but not the cards and the lore behind it.
            assert (await client.get(f"/runs/{run.id}/prompt")).status_code == 404
            assert (await preview(client, story, 403))["error"]["code"] == "forbidden"
