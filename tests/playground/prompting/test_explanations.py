"""Where every character of a prompt comes from is kept with it, and told of the next one."""

import json
from pathlib import Path

import pytest

from tavernkit.playground.story.previews.explanations import preview_explanation, read_explanation
from tavernkit.playground.story.previews.service import read_prompt
from tests.playground.prompting.prompt_story import prompt_story
from tests.playground.spaces.cast import person
from tests.playground.support.prompts import make_older
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

CARD = {"description": "{{char}} paints.\x00\ud800 And {{user}} watches."}


async def test_the_sources_of_a_prompt_that_was_sent_are_read_back(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        explanation = await read_explanation(story.runtime, story.viewer, run.id)
        (request,) = story.model.requests
    # The model gets no halves of characters, but the explanation knows them.
    told = [message.content.replace("\x00", "").replace("\ud800", "\ufffd") for message in explanation.messages]
    assert told == [message["content"] for message in request.messages]
    spans = [(span.text, str(span.source)) for message in explanation.messages for span in message.spans]
    assert ("Ada", "{{char}} in description of Ada") in [
        (text, source.partition(", through")[0]) for text, source in spans
    ]
    assert any("\x00\ud800" in text for text, _ in spans)
    assert ("Hello?", "message 0") in spans
    assert explanation.coverage.share == 1
    for message in explanation.messages:
        assert "".join(span.text for span in message.spans) == message.content


async def test_a_prompt_that_an_earlier_version_has_kept_opens_and_is_told_by_its_blocks(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(
        database_url, tmp_path, "Yes.", cards={"Ada": {"description": "Ada paints. " * 20}}
    ) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        before = await read_prompt(story.runtime, story.viewer, run.id)
        await make_older(story.runtime, run.id)
        assert await read_prompt(story.runtime, story.viewer, run.id) == before
        explanation = await read_explanation(story.runtime, story.viewer, run.id)
    assert [message.content for message in explanation.messages] == [block.content for block in before.blocks]
    assert str(explanation.messages[-1].spans[0].source) == "block message:0 of the stage history"


async def test_the_explanation_of_a_prompt_is_for_those_who_see_the_prompt(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        stranger = await person(story)
        for refused in (
            await refusal_of(read_explanation(story.runtime, stranger, run.id)),
            await refusal_of(preview_explanation(story.runtime, stranger, story.conversation_id)),
        ):
            assert refused.code == "not_found"


async def test_programs_get_the_sources_of_a_sent_prompt_and_of_the_next(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": CARD}) as story:
        await story.say_as("Robin", "Hello?")
        run = await story.answered("Ada")
        async with api_client(story.runtime, story.user_id) as client:
            sent = (await client.get(f"/runs/{run.id}/explanation")).json()
            following = await client.post(f"/conversations/{story.conversation_id}/preview/explanation", json={})
    for document in (sent, following.json()):
        for message in document["messages"]:
            assert "".join(span["text"] for span in message["spans"]) == message["content"]
    assert sent["messages"][-1]["spans"] == [{"text": "Hello?", "source": {"kind": "history", "message": 0}}]
    assert "Yes." in json.dumps(following.json())
