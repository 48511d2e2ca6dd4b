"""Every prompt is kept: what was sent can be read back, and compared with what was sent another time."""

import asyncio
from pathlib import Path

import pytest

from tavernkit.playground.base.database.models import PromptSnapshot
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.story.previews.service import KeptPrompt, compare_prompts, read_prompt
from tavernkit.playground.story.replies.actions import request_stop
from tests.playground.prompting.prompt_story import PromptStory, prompt_story
from tests.playground.spaces.cast import person
from tests.playground.support.prompts import kept_pieces
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio

LONG = "A sentence that is long enough to be a piece of its own, and does not stand in the others. " * 2


async def _kept(story: PromptStory, name: str = "Ada") -> KeptPrompt:
    run = await story.answered(name)
    kept = await read_prompt(story.runtime, story.viewer, run.id)
    assert isinstance(kept, KeptPrompt)
    return kept


async def test_what_was_sent_is_read_back_to_the_letter(database_url: str, tmp_path: Path) -> None:
    card = {"description": f"{LONG} \x00\ud800"}
    async with prompt_story(database_url, tmp_path, "Yes.", cards={"Ada": card}) as story:
        await story.say_as("Robin", LONG)
        kept = await _kept(story)
        (request,) = story.model.requests
        assert kept.request["messages"] == list(request.messages)
        assert (kept.request["max_tokens"], kept.request["stop"]) == (request.max_tokens, list(request.stop))
        assert [block.content for block in kept.blocks] == [message["content"] for message in request.messages]
        assert kept.blocks[-1].source["id"] == "message:0"
        assert all(block.tokens > 0 for block in kept.blocks)
        assert kept.report["trimming"]["evictions"] == []
        assert len(kept.fingerprint) == 64


async def test_a_text_is_kept_once_however_many_prompts_it_stands_in(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, LONG) as story:
        await story.say_as("Robin", LONG)
        first = await _kept(story)
        second = await _kept(story)
        pieces = await kept_pieces(story.runtime)
        assert sum(LONG in piece for piece in pieces) == 1
        assert first.fingerprint != second.fingerprint


async def test_two_prompts_are_compared_block_by_block(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        first = await story.answered("Ada")
        await story.set(prompt={"system_prompt_override": "Be brief."})
        await story.say_as("Robin", "And now?")
        second = await story.answered("Ada")
        changes = await compare_prompts(story.runtime, story.viewer, first.id, second.id)
    assert [(change.change, change.block.content) for change in changes if change.change != "same"] == [
        ("removed", "Write the next reply of Ada in this story between Ada and Robin."),
        ("added", "Be brief."),
        ("added", "Yes."),
        ("added", "And now?"),
    ]


async def test_the_prompt_of_a_reply_that_failed_or_was_stopped_is_kept(database_url: str, tmp_path: Path) -> None:
    error = ModelError("The key was refused. Check it.", code="http_error", status=401)
    async with prompt_story(database_url, tmp_path, error, ("Half", asyncio.Event())) as story:
        await story.say_as("Robin", "Hello?")
        failed = await story.answered("Ada")
        await story.plan("Ada")
        async with story.working():
            run = await story.until(lambda run: story.runtime.live_text.get(run.id) == "Half")
            await request_stop(story.runtime, story.viewer, run.id)
            stopped = await story.until(lambda run: run.status == "canceled")
        for id in (failed.id, stopped.id):
            assert isinstance(await read_prompt(story.runtime, story.viewer, id), KeptPrompt)


async def test_the_prompt_is_kept_with_the_first_text_that_is(database_url: str, tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with prompt_story(database_url, tmp_path, ("Once", hold)) as story:
        story.model._delay = 1.1  # longer than it takes until the text is written down
        await story.say_as("Robin", "Hello?")
        await story.plan("Ada")
        async with story.working():
            run = await story.until(lambda run: run.text == "Once")
            assert isinstance(await story.row(PromptSnapshot, run.id), PromptSnapshot)


async def test_strangers_do_not_see_prompts(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        refused = await refusal_of(read_prompt(story.runtime, await person(story), run.id))
        assert refused.code == "not_found"
