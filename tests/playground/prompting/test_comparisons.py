"""The prompts of two runs are compared, and the cause of each change is named."""

import json
from pathlib import Path

import pytest
from anyio import to_thread
from sqlalchemy import select

from tavernkit.playground.base.database.models import Message
from tavernkit.playground.story.paths.state import changed_delta
from tavernkit.playground.story.previews.comparisons import compare_runs
from tests.cli.running import run as command
from tests.playground.prompting.prompt_story import prompt_story
from tests.playground.spaces.cast import person
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

MOODY = {"description": "Ada feels {{getvar::mood}}."}


async def test_the_causes_between_two_runs_are_named(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path, "Yes.", cards={"Ada": MOODY}) as story:
        await story.say_as("Robin", "Hello?", state_delta=changed_delta(None, set={"variables.mood": "calm"}, unset=()))
        first = await story.answered("Ada")
        await story.set(authors_note={"text": "Slowly."})
        await story.say_as("Robin", "And?", state_delta=changed_delta(None, set={"variables.mood": "angry"}, unset=()))
        second = await story.answered("Ada")
        found = await compare_runs(story.runtime, story.viewer, first.id, second.id)
        stranger = await person(story)
        refused = await refusal_of(compare_runs(story.runtime, stranger, first.id, second.id))
    causes = [cause.sentence for cause in found.causes]
    assert "Variable mood changed (swipe 1 of message #3 set it from calm to angry)" in causes
    assert "Author's note edited" in causes
    assert "Message 2 is new" in causes
    assert refused.code == "not_found"


async def test_another_swipe_of_a_message_is_named(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.", "No.", "Well.") as story:
        await story.say_as("Robin", "Hello?")
        begun = await story.answered("Ada")
        await story.say_as("Robin", "Really?")
        first = await story.answered("Ada")
        async with story.runtime.database.read() as session:
            reply = await session.scalar(select(Message.id).where(Message.run_id == begun.id))
        await story.answered("Ada", kind="regenerate", target=reply)
        second = await story.answered("Ada")
        found = await compare_runs(story.runtime, story.viewer, first.id, second.id)
    assert "Message 1: swipe 2 in place of swipe 1" in [cause.sentence for cause in found.causes]


async def test_programs_get_the_causes_beside_the_blocks(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.", cards={"Ada": MOODY}) as story:
        await story.say_as("Robin", "Hello?")
        first = await story.answered("Ada")
        await story.say_as("Robin", "And now?")
        second = await story.answered("Ada")
        async with api_client(story.runtime, story.user_id) as client:
            answer = await client.get(f"/runs/{second.id}/prompt/compare", params={"with": str(first.id)})
    document = answer.json()
    assert {change["change"] for change in document["changes"]} == {"same", "added"}
    new = next(change for change in document["causes"] if change["added"] == "And now?")
    assert (new["code"], new["cause"]) == ("new_message", "Message 2 is new")


async def test_two_runs_of_a_database_are_compared_on_the_command_line(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Yes.") as story:
        await story.say_as("Robin", "Hello?")
        first = await story.answered("Ada")
        await story.say_as("Robin", "And now?")
        second = await story.answered("Ada")
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    done = await to_thread.run_sync(lambda: command("diff", str(first.id), str(second.id), "--json"))
    assert done.code == 0, done.stderr
    assert "Message 2 is new" in json.dumps(done.document)
