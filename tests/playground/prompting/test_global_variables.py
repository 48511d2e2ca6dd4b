"""Global variables outlive a story: all spaces of one person share them."""

import asyncio
from pathlib import Path

import pytest

from tavernkit.playground.story.paths.variables import MAX_VARIABLES, get_globals, set_global
from tavernkit.playground.story.previews.service import KeptPrompt, preview_prompt
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts
from tests.playground.support.web import api_client
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

COUNTING = {"description": "{{incglobalvar::meetings}}Meeting {{getglobalvar::meetings}} of {{getglobalvar::who}}."}


async def globals_of(story: PromptStory) -> dict[str, object]:
    return await get_globals(story.runtime, story.viewer)


async def test_what_a_reply_sets_is_there_in_the_next_prompt_of_every_space(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", cards={"Ada": COUNTING}) as story:
        await set_global(story.runtime, story.viewer, "who", "Robin")
        await story.say_as("Robin", "Hello?")
        for meeting in (1, 2):
            await story.answered("Ada")
            assert {name: str(value) for name, value in (await globals_of(story)).items()} == {
                "meetings": str(meeting),
                "who": "Robin",
            }
        # A prompt that nobody has answered has changed nothing.
        assert any("of Robin." in text for text in texts(await story.prompt("Ada")))
        preview = await preview_prompt(story.runtime, story.viewer, story.conversation_id)
        assert isinstance(preview, KeptPrompt)
        assert any("3 of Robin." in block.content for block in preview.blocks)
        assert str((await globals_of(story))["meetings"]) == "2"


async def test_only_what_a_reply_has_changed_is_written(database_url: str, tmp_path: Path) -> None:
    card = {"description": "{{setglobalvar::mood::glad}}{{deleteglobalvar::old}}"}
    waiting = asyncio.Event()
    async with prompt_story(database_url, tmp_path, [waiting, "Yes."], cards={"Ada": card}) as story:
        await set_global(story.runtime, story.viewer, "weather", "rain")
        await set_global(story.runtime, story.viewer, "old", "1")
        await story.say_as("Robin", "Hello?")
        await story.plan("Ada")
        async with story.working():
            await eventually(lambda: bool(story.model.requests))
            # The prompt was built before this.
            await set_global(story.runtime, story.viewer, "weather", "sun")
            waiting.set()
            await story.until(lambda run: run.status == "succeeded")
        assert await globals_of(story) == {"mood": "glad", "weather": "sun"}


async def test_risuai_reads_and_keeps_global_variables(sqlite_url: str, tmp_path: Path) -> None:
    card = {"description": "The door is {{getglobalvar::door}}."}
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": card}) as story:
        await story.set(prompt={"platform": "risuai"})
        await set_global(story.runtime, story.viewer, "door", "open")
        await story.say_as("Robin", "Hello?")
        assert any("The door is open." in text for text in texts(await story.prompt("Ada")))
        await story.answered("Ada")
        assert await globals_of(story) == {"door": "open"}


async def test_there_are_no_more_than_there_may_be(sqlite_url: str, tmp_path: Path) -> None:
    card = {"description": "".join(f"{{{{setglobalvar::v{number}::1}}}}" for number in range(MAX_VARIABLES + 5))}
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": card}) as story:
        await set_global(story.runtime, story.viewer, "mine", 1)
        await story.say_as("Robin", "Hello?")
        await story.answered("Ada")
        kept = await globals_of(story)
        assert len(kept) == MAX_VARIABLES
        assert kept["mine"] == 1


async def test_global_variables_are_read_and_changed_over_the_api(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        address = "/variables"
        assert (await client.get(address)).json() == {"variables": {}}
        put = await client.put(f"{address}/the/mood", json={"value": ["glad", 1]})
        assert put.json() == {"variables": {"the/mood": ["glad", 1]}}
        assert (await client.get(address)).json() == put.json()
        too_long = await client.put(f"{address}/x", json={"value": "a" * 20_001})
        assert too_long.json()["error"]["code"] == "too_long"
        assert (await client.delete(f"{address}/the/mood")).json() == {"variables": {}}
        assert (await client.delete(f"{address}/the/mood")).status_code == 404
