"""Requirements that are seen only where a profile runs over several turns."""

from __future__ import annotations

import asyncio
import json

from tests.artifacts.builders import SESSION, STORY, plan_with, said
from tests.artifacts.pipelines.builders import TALK, Theatre, context, fleeting, kept, play, profile, reports, step

from tavernkit.artifacts import project, session_artifacts
from tavernkit.artifacts.pipelines import example_profile

STATE = {
    "time": "dusk",
    "place": "the quay",
    "health": 7,
    "mood": "wary",
    "company": ["Mira"],
    "items": ["rope"],
    "aim": "to cross",
}


def test_r33_a_state_is_kept_told_and_shown_and_never_said() -> None:
    used = example_profile("rpg_state")
    ((pipeline, making),) = [(one.id, each) for one in used.pipelines for each in one.steps if each.artifacts]
    theatre = Theatre({f"{pipeline}/{making.id}": [json.dumps(STATE), json.dumps({**STATE, "health": 6})]})
    play(context(used, 1), theatre)
    barrier, report = play(context(used, 2), theatre)
    assert report.status == "done"
    (state,) = barrier.view
    assert (state.artifact.kind, state.artifact.content_type, state.value) == ("state", "json", STATE)
    # The model is told, and the messages are what they were.
    plan = plan_with(*barrier.candidates)
    assert [text for text in said(plan) if "the quay" in text]
    assert [text for text in said(plan) if "the quay" not in text] == [message.content for message in STORY]
    assert barrier.user_message == TALK[-1].content
    # People see it in its panel, the latest only.
    (now,) = asyncio.run(theatre.view())
    shown = project(now)
    assert shown is not None
    assert str(shown.artifact.surface).startswith("panel:")
    assert [item.version.content for item in shown.items] == [{**STATE, "health": 6}]


def test_r41_a_step_says_where_what_it_has_pushed_out_is_kept() -> None:
    window = kept("count", contentType="json", retention={"mode": "windowed", "maxVersions": 1})
    used = profile(step("tick", hook="after", template="{{ turn }}", artifacts=[window]))
    theatre = Theatre()
    _, first = play(context(used, 1), theatre)
    assert reports(first)["tick"].archived == ()
    _, second = play(context(used, 2), theatre)
    (row,) = asyncio.run(theatre.store.archives(SESSION))
    assert reports(second)["tick"].archived == (row.id,)
    assert [item.content for item in row.items] == [1]


def test_r28_g12_a_template_reads_the_value_and_the_last_of_its_history_is_the_one_before() -> None:
    template = (
        "{{ art.day.value }}<{{ art.day.history | last }}<{{ art.day.history | first }}/{{ art.day.history.size }}"
    )
    used = profile(
        step("read", template=template, artifacts=[fleeting("seen")]),
        step("write", hook="after", template="day {{ turn }}", artifacts=[kept("day")]),
    )
    theatre = Theatre()
    for turn in (1, 2, 3, 4):
        barrier, _ = play(context(used, turn), theatre)
    assert barrier.view.run_values()["seen"] == "day 3<day 2<day 1/2"


def test_r42_what_is_archived_is_there_whatever_becomes_of_the_run() -> None:
    window = kept("day", retention={"mode": "windowed", "maxVersions": 2})
    used = profile(step("write", hook="after", template="day {{ turn }}", artifacts=[window]))
    theatre = Theatre()
    for turn in range(1, 7):
        play(context(used, turn), theatre)
    # Every run is closed and forgotten, and each turn can still be read as it was.
    records, archives = asyncio.run(theatre.store.load(SESSION)), asyncio.run(theatre.store.archives(SESSION))
    for turn in range(2, 7):
        view = session_artifacts(records, now=context(used).now, turn=turn, before_turn=turn, archives=archives)
        assert view["day"].value == f"day {turn - 1}"
