"""Whoever runs pipelines dies between every two steps and inside every commit: the run goes on behind the last step
that has ended, and no model is asked again for what is written down."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.models import PipelineRun, PipelineStepRun
from tavernkit.playground.base.llm.scripted import last_user_message
from tavernkit.playground.base.realtime.bus import Bus
from tavernkit.values import Json
from tests.crash.checking import find_problems
from tests.crash.points import AFTER_COMMIT
from tests.crash.stages import Place, Stage
from tests.crash.turns import ONE, Story
from tests.support.hanging import wait_until

# The writes that pipelines add to a turn; the others have tests of their own.
WRITES = {"reserve_followed", "open", "record", "commit", "close", "finish_run", "end_run"}


def _question(step: str, conversation: object, now: str) -> str:
    return f"<step {step} of {conversation} at {now}> [[say: Yes.]]"


def _asking(id: str, hook: str, tag: str | None) -> dict[str, Any]:
    """A step that asks a model; `now` is the same however often a run is taken up, and different in every run."""
    shown: dict[str, Any] = {"visibility": "prompt_and_ui", "promptInclusion": {"mode": "append_after_last_user"}}
    artifact = {"access": "run_only", **shown} if tag is None else {"tag": tag, "uiSurface": f"panel:{tag}", **shown}
    if hook == "after":
        artifact = {**artifact, "visibility": "ui_only", "promptInclusion": None}
    return {
        "id": id,
        "hook": hook,
        "kind": "llm",
        "prompt": _question(id, "{{ chat.id }}", "{{ now }}"),
        "artifacts": [artifact],
    }


COUNT = {
    "id": "count",
    "hook": "after",
    "kind": "template",
    "template": "{{ art.count.value | default: 0 | plus: 1 }}",
    "artifacts": [{"tag": "count", "contentType": "json", "visibility": "ui_only", "uiSurface": "panel:count"}],
}
PROFILE = {
    "pipelines": [
        {
            "id": "world",
            "permissions": ["artifact_write"],
            "steps": [_asking("think", "before", None), _asking("plan", "before", "plan"), COUNT,
                      _asking("mood", "after", "mood")],
        }
    ]
}  # fmt: skip


def test_a_worker_dies_at_every_write_of_its_pipelines(together: Stage, subtests: pytest.Subtests) -> None:
    began = together.log_lengths()
    stories = [_crash(together)]
    places = [place for place in together.passed_each_time() if place.write in WRITES and _is_different(place)]
    assert {place.write for place in places} == WRITES
    for place in places:
        with subtests.test(str(place)):
            stories.append(_crash(together, place))
    assert asyncio.run(find_problems(together.database_url, stories)) == []
    assert "Traceback" not in together.logged(since=began)


def _is_different(place: Place) -> bool:
    """Whether no other death is the same: a write is the same code each time, but each step comes behind another."""
    return place.point.time == 1 or place.point.moment.endswith(AFTER_COMMIT)


def _crash(stage: Stage, place: Place | None = None) -> Story:
    player = stage.player
    story = player.begin(ONE, words=2)
    player.follow(story, PROFILE)
    stage.clear()
    written: set[str] = set()
    asked: Counter[str] = Counter()
    if place is not None:
        process = stage.processes[place.role]
        process.points.arm(place.point)
        player.say(story)
        player.play(story, unless=process.is_dead)
        wait_until(process.is_dead)
        written, asked = asyncio.run(_written(stage.database_url, story)), _asked(stage, story)
        stage.raise_dead()
    player.say_until_accepted(story)
    player.play(story)
    assert player.artifacts(story)["count"] == 1
    again = {question for question in written if _asked(stage, story)[question] != asked[question]}
    assert again == set(), f"asked again although it was written down: {again}"
    return story


def _asked(stage: Stage, story: Story) -> Counter[str]:
    """How often each step of each run has asked the model."""
    questions = (last_user_message(cast("list[Json]", body["messages"])) for body in stage.model.bodies)
    return Counter(
        question for question in questions if question.startswith("<step") and str(story.conversation) in question
    )


async def _written(database_url: str, story: Story) -> set[str]:
    """The questions of the steps whose end has been written down."""
    database = Database(database_url, Bus())
    try:
        async with database.read() as session:
            rows = await session.execute(
                select(PipelineStepRun.step, PipelineRun.created_at)
                .join(PipelineRun, PipelineRun.id == PipelineStepRun.pipeline_run_id)
                .where(PipelineRun.conversation_id == story.conversation, PipelineStepRun.status == "done")
            )
            return {_question(step, story.conversation, began.isoformat()) for step, began in rows}
    finally:
        await database.close()
