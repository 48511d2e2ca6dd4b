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
        assert " tokens too large: it needs " in run.error["message"]
        assert "2,048" in run.error["message"]
        assert story.model.requests == []


@pytest.mark.parametrize("platform", ["sillytavern", "risuai"])
async def test_the_latest_message_of_the_person_is_sent_however_much_is_said_behind_it(
    sqlite_url: str, tmp_path: Path, platform: str
) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await story.set(prompt={"platform": platform})
        await story.say_as("Ada", "Welcome.")
        await story.say_as("Robin", "Find the lamp.")
        for number in range(6):
            await story.say_as("Ada", f"Step {number}. " + "The road went on. " * 500)
        run = await story.answered("Ada")
        assert run.status == "succeeded"
        sent = "\n".join(str(message["content"]) for message in story.model.requests[-1].messages)
        assert "Find the lamp." in sent
        assert "Step 5." in sent
        assert "Step 0." not in sent
        assert "Welcome." not in sent
        steps = sum(f"Step {number}." in sent for number in range(6))
        assert run.debug["left_out"]["messages"] == 1 + 6 - steps


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
