"""How runs of pipelines begin, go on and end inside the runs of a story."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.artifacts.pipelines import TERMINAL_EVENTS
from tavernkit.playground.base.database.models import MessageSwipe, Run
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.pipelines.documents import NewProfile
from tavernkit.playground.story.pipelines.service import create_profile
from tavernkit.playground.story.prompting.inputs import WORDINGS
from tavernkit.playground.story.replies.actions import request_stop
from tests.playground.artifacts.requirements.watching import heard, listening, thought, told
from tests.playground.pipelines.profile_story import DICE, ProfileStory, counting, profile, profile_story
from tests.playground.support.refusals import refusal_of
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio


def kept(tag: str, **fields: Any) -> dict[str, Any]:
    return {"tag": tag, "kind": "state", "visibility": "ui_only", "uiSurface": "panel:x", **fields}


def saying(id: str, template: str, *artifacts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    usual = {"id": id, "kind": "template", "hook": "before", "template": template, "artifacts": list(artifacts)}
    return {**usual, **fields}


async def asked(model: ScriptedModel) -> None:
    """Wait until somebody has asked the model."""
    await eventually(lambda: bool(model.requests))


async def ended(play: ProfileStory) -> dict[str, Any]:
    """The report of the only run."""
    (run,) = await play.pipeline_runs()
    assert run.report is not None
    return run.report


async def test_g18_what_was_done_beside_a_required_step_that_failed_is_seen_by_nobody(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"), "Sit down.")
    content = profile(saying("mark", "done", kept("mark")), thought(required=True))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        assert (await play.turn()).status == "failed"
        assert await play.values() == {}
        assert {step["step"]: step["commit"] for step in (await ended(play))["steps"]} == {
            "mark": "withheld",
            "think": "nothing",
        }
        await play.turn("And now?")
        assert await play.values() == {"mark": "done"}


async def test_g18_what_was_committed_before_a_reply_that_failed_is_not_read(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"), "Sit down.")
    content = profile(counting(hook="before"))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        assert (await play.turn()).status == "failed"
        assert await play.values() == {}
        await play.turn("And now?")
        assert await play.values() == {"count": 1}


async def test_pitfall_07_a_rewritten_message_is_stored_and_not_only_told(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("So be it.")
    async with profile_story(database_url, tmp_path, model, profile(DICE)) as play, play.working():
        await play.turn("I jump.")
        async with play.runtime.database.read() as session:
            swipes = list(await session.scalars(select(MessageSwipe)))
        ((typed, made),) = [
            (swipe.content, swipe.metadata_[WORDINGS]["made"]) for swipe in swipes if WORDINGS in swipe.metadata_
        ]
        assert typed == "I jump."
        assert [(one["label"], one["text"], one["selected"]) for one in made] == [
            ("dice_enriched", "I jump. (rolled 6)", True)
        ]
        await play.turn("I land.")
        assert "I jump. (rolled 6)" in told(model), "it is what later prompts tell as well"


async def test_pitfall_09_a_required_step_that_its_guard_holds_back_has_not_failed(
    database_url: str, tmp_path: Path
) -> None:
    guard = {"id": "late", "kind": "guard", "hook": "before", "template": "false"}
    held = thought(required=True, dependsOn=["late"], runConditions=[{"guard": "late"}])
    after_held = saying("note", "x", required=True, dependsOn=["think"])
    not_due = saying("rare", "x", kept("rare"), everyNTurns=9)
    needs_rare = saying("needs", "x", required=True, dependsOn=["rare"])
    model = ScriptedModel("Sit down.")
    content = profile(guard, held, after_held, not_due, needs_rare)
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        await play.turn()
        assert (await play.turn("And now?")).status == "succeeded"
        assert len(model.requests) == 2
        last = (await play.pipeline_runs())[-1]
        assert last.report is not None
        assert (last.status, {step["step"]: step["reason"] for step in last.report["steps"]}) == (
            "done",
            {
                "late": None,
                "think": "guard_not_matched",
                "note": "dependency_skipped",
                "rare": "not_due",
                "needs": "dependency_skipped",
            },
        )


async def test_pitfall_09_stopping_before_the_reply_is_a_stop_and_no_failure(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel((asyncio.Event(), "never"))
    content = profile(thought(required=True))
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        await play.say()
        await asked(model)
        await request_stop(play.runtime, play.viewer, (await play.run()).id)
        run = await play.until(lambda run: run.status not in ("queued", "running"))
        assert (run.status, run.error) == ("canceled", None)
        report = await ended(play)
        assert (report["status"], report["failed_type"]) == ("aborted", None)
        assert [step["status"] for step in report["steps"]] == ["aborted"]


async def test_pitfall_11_a_tag_collision_is_refused_before_anything_can_run(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel(), profile(counting())) as play:
        first, second = (profile(saying("look", "x", kept("mood")), pipeline=id)["pipelines"][0] for id in ("a", "b"))
        both = NewProfile(name="Both", content={"pipelines": [first, second]})
        refused = await refusal_of(create_profile(play.runtime, play.viewer, both))
        assert refused.code == "invalid"
        assert "art.mood is made by a/look and b/look." in refused.sentence


async def test_pitfall_12_a_run_ends_once_and_says_nothing_afterwards(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"))
    content = profile(saying("a", "x"), counting())
    async with profile_story(database_url, tmp_path, model, content) as play, listening(play) as news:
        async with play.working():
            await play.turn()
        events = [item["pipeline"] for item in await heard(play, news) if "pipeline" in item]
    ends = [event["type"] for event in events if event["type"] in TERMINAL_EVENTS]
    assert ends == ["pipeline.run.error"]
    assert events[-1]["type"] == "pipeline.run.error"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


async def test_pitfall_13_what_looks_like_a_template_in_what_people_say_is_only_told(
    database_url: str, tmp_path: Path
) -> None:
    said = "I say {{ 6 | times: 7 }} {% assign x = 1 %} and {{ art.echo.value }}."
    note = {**thought()["artifacts"][0], "tag": "echo"}
    model = ScriptedModel("Think.", "Sit down.")
    content = profile(
        thought(prompt="About: {{ lastUserMessage }}"),
        saying("echo", "Heard: {{ lastUserMessage }}", note, dependsOn=["think"]),
    )
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        await play.turn(said)
        assert told(model, 0)[-1] == f"About: {said}"
        assert f"Heard: {said}" in told(model)[-1]


async def test_pitfall_13_chance_is_the_same_when_a_run_is_taken_up_again(database_url: str, tmp_path: Path) -> None:
    dice = "{% assign sides = '1 2 3 4 5 6 7 8 9' | split: ' ' %}" + "{{ sides | sample }}" * 9
    model = ScriptedModel((asyncio.Event(), "never"), "Think.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(thought(prompt=dice))) as play:
        async with play.working("first"):
            await play.say()
            await asked(model)
        async with play.working("second"):
            await play.until(lambda run: run.status == "succeeded")
        assert told(model, 0) == told(model, 1)
        assert len(told(model, 0)[-1]) == 9
        assert told(model)[-1] == "Think."


async def test_pitfall_14_a_message_that_is_sent_twice_is_answered_once(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play:
        id = uuid4()
        await asyncio.gather(*(play.say("Hello?", message_id=id) for _ in range(3)))
        async with play.working():
            await play.until(lambda run: run.status == "succeeded")
            await play.say("Hello?", message_id=id)
        async with play.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(Run)) == 1
        assert len(model.requests) == 1
        assert [run.status for run in await play.pipeline_runs()] == ["done"]
        assert await play.values() == {"count": 1}


async def test_pitfall_15_a_step_sees_all_that_it_depends_on_and_half_of_its_work_is_none(
    database_url: str, tmp_path: Path
) -> None:
    whole, half = '{"a": "lamp", "b": "rope"}', '{"a": "torch"}'
    model = ScriptedModel(whole, "Sit down.", half, "Sit down.")
    search = thought(
        prompt="What is there?",
        output="json",
        artifacts=[kept("a", pointer="/a"), kept("b", pointer="/b")],
    )
    between = saying("between", "x", dependsOn=["think"])
    far = saying("far", "{{ art.a.value }} and {{ art.b.value }}", kept("both"), dependsOn=["between"])
    async with profile_story(database_url, tmp_path, model, profile(search, between, far)) as play, play.working():
        await play.turn()
        assert await play.values() == {"a": "lamp", "b": "rope", "both": "lamp and rope"}
        await play.turn("And now?")
        last = (await play.pipeline_runs())[-1]
        assert last.report is not None
        assert [step["status"] for step in last.report["steps"]] == ["error", "skipped", "skipped"]
        assert await play.values() == {"a": "lamp", "b": "rope", "both": "lamp and rope"}
