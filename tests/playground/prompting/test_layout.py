"""Settings that keep the beginning of prompts, and what they leave in the state of a story."""

from pathlib import Path
from typing import Any

import pytest

from tavernkit.playground.base.database.models import Message
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.paths.state import read_state
from tavernkit.playground.story.previews.service import read_prompt
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts

pytestmark = pytest.mark.anyio

BOOK = {"name": "Harbour", "entries": [{"id": 1, "keys": ["ice"], "comment": "Winter", "content": "It freezes hard."}]}
CARDS: dict[str, Any] = {"Ada": {"character_book": BOOK}}
FROZEN = "prompt_layout.frozen.Harbour.1"


async def frozen_in(story: PromptStory, conversation_id: Any = None) -> dict[str, Any]:
    _, state = await read_state(story.runtime, story.viewer, conversation_id or story.conversation_id)
    return {key: value for key, value in state.items() if key.startswith("prompt_layout.")}


async def said(story: PromptStory, text: str) -> Message:
    """A message and the reply to it, which is given back."""
    await story.say_as("Robin", text)
    await story.answered("Ada")
    reply: Message = await story.row(Message, (await story.last_swipe()).message_id)
    return reply


async def test_an_entry_stays_where_it_was_activated_and_follows_the_path(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", cards=CARDS) as story:
        await story.set(world_info={"depth": 1}, prompt={"freeze_lore": True})
        first = await said(story, "Hello?")
        assert await frozen_in(story) == {}
        await said(story, "Is there ice?")
        (entry,) = (await frozen_in(story)).values()
        assert (entry["message"], entry["content"], entry["name"]) == (2, "It freezes hard.", "Winter")
        last = await said(story, "And now?")
        found = texts(await story.prompt("Ada"))
        place = found.index("It freezes hard.")
        assert found[place - 1 : place + 2] == ["Is there ice?", "It freezes hard.", "Yes."]
        branches = [
            (await fork(story.runtime, story.viewer, story.conversation_id, message.id, kind="branch")).id
            for message in (first, last)
        ]
        assert [len(await frozen_in(story, branch)) for branch in branches] == [0, 1]


async def test_without_the_settings_nothing_is_left_in_the_state(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards=CARDS) as story:
        await said(story, "Is there ice?")
        assert await frozen_in(story) == {}
        await story.set(prompt={"freeze_lore": True, "stable_layout": True})
        await said(story, "Is there ice?")
        assert len(await frozen_in(story)) == 1
        await story.set(prompt={})
        await said(story, "Well?")
        assert await frozen_in(story) == {}


async def test_a_stable_layout_puts_what_changes_behind_the_chat_and_says_so(sqlite_url: str, tmp_path: Path) -> None:
    cards = {"Ada": {"description": "It is {{time}} here.", "character_book": BOOK}}
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards=cards) as story:
        await story.set(prompt={"stable_layout": True})
        await story.say_as("Robin", "Is there ice?")
        run = await story.answered("Ada")
        kept = await read_prompt(story.runtime, story.viewer, run.id)
    contents = [block.content for block in kept.blocks]
    place = contents.index("Is there ice?")
    assert contents[place + 1] == "It freezes hard."
    assert contents[place + 2].startswith("It is ")
    moves = [warning["message"] for warning in kept.report["warnings"] if warning["code"] == "moved_block"]
    assert "The entry Winter is moved from the place after the character to the end of the chat." in moves
    assert any("charDescription" in message for message in moves)
