"""What is for the model alone is told to nobody else, and kept nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.previews.explanations import read_explanation
from tests.playground.artifacts.requirements.watching import heard, listening, places_of, thought, told
from tests.playground.pipelines.profile_story import counting, profile, profile_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

SECRET = "the butler did it"


async def test_r38_what_lives_for_one_run_is_in_no_row_when_the_run_has_ended(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(f"Think: {SECRET}.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(thought())) as play, play.working():
        await play.turn()
        assert f"Think: {SECRET}." in told(model)
        assert await places_of(play.runtime, SECRET) == set()
        # That something was made is known, by its hash and its length.
        (step,) = await play.step_runs()
        assert step.log is not None
        (trace,) = step.log["wrote"]
        assert (trace["artifact"], trace["length"]) == ("run.thought", len(f"Think: {SECRET}."))


@pytest.mark.parametrize("ending", ["Sit down.", ModelError("Nobody is there.", code="unavailable")])
async def test_pitfall_03_a_kept_prompt_holds_hashes_and_no_part_of_what_is_hidden(
    database_url: str, tmp_path: Path, ending: str | ModelError
) -> None:
    model = ScriptedModel(f"{SECRET}. " * 40, ending)
    artifact = {**thought()["artifacts"][0], "promptInclusion": {"operation": "wrap", "anchor": "after_last_user"}}
    content = profile(thought(artifacts=[artifact]))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        run = await play.turn("Who was it?")
        assert SECRET in told(model)[-1]
        explanation = await read_explanation(play.runtime, play.viewer, run.id)
        assert SECRET not in str(explanation)
        assert "artifact='thought'" in str(explanation)
        assert await places_of(play.runtime, SECRET) == set()
        assert "prompt_pieces.data" in await places_of(play.runtime, "sha256:")


async def test_pitfall_04_pages_and_programs_get_hashes_of_what_is_hidden(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(SECRET, "Sit down.")
    hidden = {"tag": "plot", "visibility": "internal"}
    content = profile(thought(artifacts=[*thought()["artifacts"], hidden]), counting())
    async with profile_story(database_url, tmp_path, model, content) as play, listening(play) as news:
        async with play.working():
            await play.turn()
        items = await heard(play, news)
        updated = {
            item["pipeline"]["data"]["tag"]: item["pipeline"]["data"]
            for item in items
            if item.get("pipeline", {}).get("type") == "artifact.updated"
        }
        assert updated["count"]["content"] == 1
        assert updated["plot"]["redacted"]["length"] == len(SECRET)
        assert SECRET not in json.dumps(items)
        async with api_client(play.runtime, play.user_id) as client:
            listed = await client.get(f"/conversations/{play.conversation_id}/artifacts")
            versions = await client.get(f"/conversations/{play.conversation_id}/artifacts/plot/versions")
        assert [item["tag"] for item in listed.json()["items"]] == ["count", "plot"]
        assert versions.json()["items"][0]["redacted"]["length"] == len(SECRET)
        assert SECRET not in listed.text + versions.text


async def test_pitfall_04_what_goes_wrong_in_a_step_is_told_and_kept(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"), "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(thought())) as play, listening(play) as news:
        async with play.working():
            run = await play.turn()
        items = await heard(play, news)
        assert run.status == "succeeded"
        (ended,) = [item["pipeline"]["data"] for item in items if item.get("pipeline", {}).get("step") == "think"][1:]
        assert (ended["status"], ended["message"]) == ("error", "Nobody is there.")
        (step,) = await play.step_runs()
        assert step.error is not None
        assert step.error["message"] == "Nobody is there."
