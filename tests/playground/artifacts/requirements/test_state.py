"""State that a profile keeps of a story: what its steps read, write, and say about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import ArtifactVersion, Message
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.messages.service import select_swipe
from tavernkit.playground.story.pipelines.documents import PatchProfile
from tavernkit.playground.story.pipelines.service import edit_profile
from tests.playground.artifacts.requirements.watching import told
from tests.playground.pipelines.profile_story import ProfileStory, counting, profile, profile_story

pytestmark = pytest.mark.anyio

SKY = {
    "id": "sky",
    "kind": "template",
    "hook": "after",
    "template": "grey {{ turn }}",
    "artifacts": [{"tag": "sky", "kind": "state", "visibility": "ui_only", "uiSurface": "panel:sky"}],
}


async def written(play: ProfileStory, tag: str = "count") -> list[tuple[int, int | None, Any]]:
    """Every version that there is: its number, its base, its content."""
    async with play.runtime.database.read() as session:
        rows = await session.scalars(select(ArtifactVersion).filter_by(tag=tag).order_by(ArtifactVersion.version))
        return [(row.version, row.based_on_version, row.content) for row in rows]


async def reports(play: ProfileStory, step: str = "count") -> list[dict[str, Any]]:
    """What each run reports of a step, oldest first."""
    ended = [run.report for run in await play.pipeline_runs()]
    return [one for report in ended if report is not None for one in report["steps"] if one["step"] == step]


async def test_r34_a_state_step_reads_the_talk_its_value_its_history_and_others_and_knows_its_base(
    database_url: str, tmp_path: Path
) -> None:
    prompt = (
        "{{ messages | map: 'content' | join: '/' }}|{{ art.count.value }}|{{ art.count.history | join: ',' }}"
        "|{{ art.sky.value }}"
    )
    model = ScriptedModel("One.", "7", "Two.", "8", "Three.", "9")
    content = profile(SKY, counting(kind="llm", prompt=prompt, output="json"))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        for line in ("A", "B", "C"):
            await play.turn(line)
        asked = told(model)[-1]
        assert asked.endswith("A/One./B/Two./C/Three.|8|7|grey 2")
        assert await written(play) == [(1, None, 7), (2, 1, 8), (3, 2, 9)]
        last = (await reports(play))[-1]
        assert {(one["tag"], one["version"]) for one in last["read"]} == {("count", 2), ("sky", 2)}


async def test_r47_a_step_says_what_it_has_written_without_writing_it_again(database_url: str, tmp_path: Path) -> None:
    artifact = {**counting()["artifacts"][0], "tag": "state"}
    answers = ['{"foe": "a very long dragon", "hp": 9}', '{"foe": "a very long dragon", "hp": 8}']
    model = ScriptedModel("One.", answers[0], "Two.", answers[1])
    step = counting(kind="llm", prompt="How is it?", output="json", artifacts=[artifact])
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.turn()
        await play.turn("And now?")
        first, second = [one["wrote"][0] for one in await reports(play)]
        assert (first["tag"], first["kind"], first["basedOnVersion"], first["version"]) == ("state", "state", None, 1)
        assert (second["basedOnVersion"], second["version"], second["change"]) == (1, 2, "1 change: /hp")
        assert first["hash"] != second["hash"]
        logs = [step.log for step in await play.step_runs()]
        assert [log["wrote"][0]["version"] for log in logs if log is not None] == [1, 2]
        assert "dragon" not in json.dumps([logs, [run.report for run in await play.pipeline_runs()]])


async def test_g17_however_often_a_turn_is_told_it_starts_from_the_state_before_it(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play, play.working():
        await play.turn()
        await play.turn("And now?")
        for _ in range(2):
            await play.again()
            assert told(model)[-2:] == ["And now?", "1"], "the state of before that turn is told"
        # Each is written behind the latest of all, and says what the first telling said.
        assert await written(play) == [(1, None, 1), (2, 1, 2), (3, 2, 2), (4, 3, 2)]
        assert await play.values() == {"count": 2}
        async with play.runtime.database.read() as session:
            last = (await session.scalars(select(Message).order_by(Message.seq.desc()).limit(1))).one()
        await select_swipe(play.runtime, play.viewer, last.id, 0)
        assert await play.values() == {"count": 2}
        await play.turn("And then?")
        assert await play.values() == {"count": 3}


async def test_pitfall_08_an_edited_profile_goes_on_with_its_state(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play, play.working():
        await play.turn()
        (run,) = await play.pipeline_runs()
        assert run.profile_id is not None
        by_ten = profile(counting(template="{{ art.count.value | default: 0 | plus: 10 }}"), SKY)
        await edit_profile(
            play.runtime, play.viewer, run.profile_id, PatchProfile(settings_version=1, name="Edited", content=by_ten)
        )
        await play.turn("And now?")
        assert await play.values() == {"count": 11, "sky": "grey 2"}
        assert [each.profile_version for each in await play.pipeline_runs()] == [1, 2]


async def test_pitfall_10_a_telling_anew_uses_up_nothing_of_an_interval(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.")
    content = profile(counting(everyNTurns=2))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        for line in ("One.", "Two.", "Three."):
            await play.turn(line)
            await play.again()
        assert await play.values() == {"count": 1}
        await play.turn("Four.")
        assert await play.values() == {"count": 2}
        due = [one["reason"] or one["status"] for one in await reports(play)]
        # A telling anew does what the turn did.
        assert due == [*["not_due"] * 2, *["done"] * 2, *["not_due"] * 2, "done"]


async def test_pitfall_10_a_failure_uses_up_nothing_of_an_interval(database_url: str, tmp_path: Path) -> None:
    failure = ModelError("Nobody is there.", code="unavailable")
    model = ScriptedModel("One.", "Two.", failure, "Three.", "5", "Four.")
    step = counting(kind="llm", prompt="How often?", output="json", everyNTurns=2)
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        for line in ("One?", "Two?", "Three?", "Four?"):
            await play.turn(line)
        assert [one["reason"] or one["status"] for one in await reports(play)] == [
            "not_due",
            "error",
            "done",
            "not_due",
        ]
        assert await play.values() == {"count": 5}


async def test_pitfall_10_what_was_done_for_a_reply_that_never_came_uses_up_nothing_of_an_interval(
    database_url: str, tmp_path: Path
) -> None:
    failure = ModelError("Nobody is there.", code="unavailable")
    model = ScriptedModel("One.", failure, "Three.", "Four.")
    content = profile(counting(hook="before", everyNTurns=2))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        for line in ("One?", "Two?", "Three?", "Four?"):
            await play.turn(line)
        # What the second turn has written is not on the path, so the third does it.
        assert [one["reason"] or one["status"] for one in await reports(play)] == ["not_due", "done", "done", "not_due"]
        assert await play.values() == {"count": 1}
        assert told(model)[-2:] == ["Four?", "1"]
