"""What a prompt has in common with the one before it, beside what its provider says."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import Provider, Run
from tavernkit.playground.base.llm.base import Finished, ModelError
from tavernkit.playground.story.previews.service import read_prompt
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

BOOK = {"name": "Harbour", "entries": [{"id": 1, "keys": ["ice"], "comment": "Winter", "content": "It freezes hard."}]}


async def said(story: PromptStory, text: str) -> Run:
    """A message and the reply to it."""
    await story.say_as("Robin", text)
    return await story.answered("Ada")


async def reuse_of(story: PromptStory, run: Run) -> Any:
    return (await read_prompt(story.runtime, story.viewer, run.id)).report.get("reuse")


async def on_provider(story: PromptStory, **values: Any) -> None:
    async with story.runtime.database.write() as session:
        await session.execute(update(Provider).values(**values))


async def test_a_prompt_is_compared_with_the_one_before(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.") as story:
        first, second = await said(story, "Hello?"), await said(story, "And now?")
        assert await reuse_of(story, first) is None
        found = await reuse_of(story, second)
        kept = await read_prompt(story.runtime, story.viewer, first.id)
    assert (found["before"], found["broken_by"]) == (str(first.id), None)
    assert found["common_tokens"] == sum(block.tokens for block in kept.blocks)
    assert (second.common_tokens, second.compared_tokens) == (found["common_tokens"], found["total_tokens"])
    assert (first.common_tokens, first.compared_tokens) == (None, None)
    assert found["share"] == round(second.common_tokens / second.compared_tokens, 4) < 1


async def test_an_entry_that_comes_and_goes_is_named_as_what_broke_it(sqlite_url: str, tmp_path: Path) -> None:
    cards = {"Ada": {"character_book": BOOK}}
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards=cards) as story:
        await story.set(world_info={"depth": 1})
        runs = [await said(story, text) for text in ("Hello?", "Is there ice?", "And now?")]
        _, comes, goes = [await reuse_of(story, run) for run in runs]
        blocks = (await read_prompt(story.runtime, story.viewer, runs[1].id)).blocks
    broken = comes["broken_by"]
    assert (broken["source"]["kind"], broken["source"]["name"]) == ("lore", "Winter")
    assert "It freezes hard." in blocks[broken["message"]].content
    assert "It freezes hard." in broken["common"] + broken["after"]
    assert goes["broken_by"]["replaced"]["name"] == "Winter"
    assert comes["share"] < goes["share"] + 1


async def test_only_prompts_for_the_same_model_are_compared(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        first = await said(story, "Hello?")
        await on_provider(story, model="gpt-4")
        other = await said(story, "And now?")
        await on_provider(story, model="gpt-4o")
        again = await said(story, "And then?")
        assert await reuse_of(story, other) is None
        assert (await reuse_of(story, again))["before"] == str(first.id)


async def test_the_prompt_of_a_reply_that_failed_is_compared_too(sqlite_url: str, tmp_path: Path) -> None:
    error = ModelError("The server is busy.", code="http_error", status=400)
    async with prompt_story(sqlite_url, tmp_path, "Yes.", error, "Yes.") as story:
        first, failed = await said(story, "Hello?"), await said(story, "And now?")
        assert failed.status == "failed"
        assert (await reuse_of(story, failed))["before"] == str(first.id)
        assert (await reuse_of(story, await said(story, "Well?")))["before"] == str(failed.id)


async def test_a_text_completion_is_compared_as_one_text(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await on_provider(story, kind="openai_text")
        await said(story, "Hello?")
        run = await said(story, "And now?")
        found = await reuse_of(story, run)
        prompt = "".join(block.content for block in (await read_prompt(story.runtime, story.viewer, run.id)).blocks)
    broken = found["broken_by"]
    assert broken["message"] == 0
    assert broken["common"].endswith("Ada:")
    assert broken["common"] + broken["after"] in prompt
    assert found["share"] > 0.5


async def test_pages_and_programs_see_what_was_reused_and_what_the_provider_says(
    sqlite_url: str, tmp_path: Path
) -> None:
    counted = Finished(reason="stop", prompt_tokens=90, completion_tokens=2, cached_tokens=64)
    async with prompt_story(sqlite_url, tmp_path, "Yes.", ("Yes.", counted)) as story:
        await said(story, "Hello?")
        await story.set(prompt={"system_prompt_override": "Be brief."})
        run = await said(story, "And now?")
        async with api_client(story.runtime, story.user_id) as client:
            shown = (await client.get(f"/runs/{run.id}")).json()
            prompt = (await client.get(f"/runs/{run.id}/prompt")).json()
            preview = (await client.post(f"/conversations/{story.conversation_id}/preview", json={})).json()
        async with browser(story.runtime, story.user_id) as client:
            page = (await client.get(f"/runs/{run.id}?tab=reply")).text
    assert shown["cached_tokens"] == 64
    assert shown["reuse"] == {name: prompt["reuse"][name] for name in ("common_tokens", "total_tokens", "share")}
    assert prompt["reuse"]["broken_by"]["after"] == "Be brief."
    assert preview["reuse"]["before"] == str(run.id)
    assert "64 tokens" in page
    assert f"{run.common_tokens} of {run.compared_tokens} tokens" in page
