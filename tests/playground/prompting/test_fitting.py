"""A model is asked only where what was said fits into the prompt."""

from pathlib import Path

import pytest
from sqlalchemy import update

from tavernkit.playground.base.database.models import Provider
from tests.playground.prompting.prompt_story import prompt_story

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("kind", "platform"), [("openai", "sillytavern"), ("openai_text", "sillytavern"), ("openai", "risuai")]
)
async def test_a_card_that_leaves_no_room_for_the_chat_is_refused_and_no_model_is_asked(
    database_url: str, tmp_path: Path, kind: str, platform: str
) -> None:
    card = {"description": "She remembers everything. " * 1000}
    async with prompt_story(database_url, tmp_path, "Yes.", cards={"Ada": card}) as story:
        await story.set(prompt={"platform": platform})
        async with story.runtime.database.write() as session:
            await session.execute(update(Provider).values(kind=kind, context_tokens=2048))
        await story.say_as("Robin", "Who are you?")
        run = await story.answered("Ada")
        assert run.error is not None
        assert run.error["code"] == "prompt_too_large"
        assert "too large for the model by " in run.error["message"]
        assert "2,048" in run.error["message"]
        assert story.model.requests == []


async def test_a_run_counts_what_did_not_fit_and_a_prompt_that_fits_counts_nothing(
    database_url: str, tmp_path: Path
) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", "No.") as story:
        await story.say_as("Robin", "Who are you?")
        assert (await story.answered("Ada")).debug["left_out"] == {}
        for _ in range(4):
            await story.say_as("Robin", "The road went on. " * 500)
        run = await story.answered("Ada")
        assert run.debug["left_out"] == {"messages": 3}
