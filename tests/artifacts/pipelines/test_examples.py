"""The three profiles that come along, played."""

from __future__ import annotations

import asyncio
import json

from tests.artifacts.builders import MIRA, ROBIN
from tests.artifacts.pipelines.builders import TALK, Theatre, again, context, reports

from tavernkit import BuildHooks, build
from tavernkit.artifacts import include_artifacts, project_all
from tavernkit.artifacts.pipelines import Barrier, RunContext, example_profile

STATE = {
    "time": "night", "place": "the quay", "health": 90, "mood": "wary", "company": ["Mira"], "items": ["a lamp"],
    "aim": "cross before the storm",
}  # fmt: skip


def prompt_of(about: RunContext, barrier: Barrier) -> list[tuple[str, str]]:
    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts(barrier.candidates))
    plan = build(character=MIRA, user=ROBIN, history=about.messages, hooks=hooks).plan
    return [(message.role, message.content) for message in plan.messages][1:]


def test_rpg_state_is_kept_in_a_panel_and_told_before_the_next_reply() -> None:
    used = example_profile("rpg_state")
    later = {**STATE, "place": "the ferry"}
    theatre = Theatre({"rpg_state/update": [json.dumps(STATE), "```json\n" + json.dumps(later) + "\n```"]})

    async def perform() -> None:
        first = context(used, 1)
        barrier, _ = await theatre.play(first)
        assert prompt_of(first, barrier) == [(one.role, one.content) for one in TALK]
        second = context(used, 2)
        barrier, report = await theatre.play(second)
        said = prompt_of(second, barrier)
        assert [role for role, _ in said] == ["assistant", "developer", "user"]
        assert json.loads(said[1][1]) == STATE
        assert reports(report)["update"].wrote[0]["change"] == "1 change: /place"
        (panel,) = project_all(await theatre.view())["panel:rpg_state"]
        assert [item.version.content for item in panel.items] == [later]

    asyncio.run(perform())
    first, second = (request.messages[-1].content for request in theatre.calls)
    assert "The record so far" not in first
    assert "Robin: I can wait.\n\nMira: It comes at nine." in first
    assert '"place":"the quay"' in second


def test_rpg_state_does_not_tick_twice_when_a_reply_is_regenerated() -> None:
    used = example_profile("rpg_state")
    theatre = Theatre({"rpg_state/update": json.dumps(STATE)})

    async def perform() -> None:
        await theatre.play(context(used, 1))
        await theatre.play(again(used, 1))

    asyncio.run(perform())
    assert "The record so far" not in theatre.calls[1].messages[-1].content


def test_pre_thinking_is_told_once_and_leaves_nothing() -> None:
    used = example_profile("pre_thinking")
    thought = {"wish": "Company.", "unsaid": "Fear.", "turn": "The bell rings."}
    theatre = Theatre({"pre_thinking/think": json.dumps(thought)})

    async def perform() -> None:
        about = context(used)
        barrier, _ = await theatre.play(about)
        said = prompt_of(about, barrier)
        assert [role for role, _ in said] == ["assistant", "user", "developer"]
        assert said[-1][1].splitlines()[1:] == [
            "Robin wants: Company.",
            "Mira does not say: Fear.",
            "Perhaps: The bell rings.",
        ]
        assert (await theatre.view()).art() == {}
        assert "The bell rings" not in repr(theatre.events)

    asyncio.run(perform())


def test_commentators_speak_in_a_feed_and_the_story_never_hears_them() -> None:
    used = example_profile("commentators")
    whispers = [
        {"odile": "New gloves.", "brandt": "He lies.", "pim": said} for said in ("What is in it?", "Still shut.")
    ]
    theatre = Theatre({"commentators/comment": [json.dumps(one) for one in whispers]})

    async def perform() -> None:
        await theatre.play(context(used, 1))
        barrier, _ = await theatre.play(context(used, 2))
        assert barrier.candidates == ()
        (feed,) = project_all(await theatre.view())["feed:commentary"]
        assert [item.version.content for item in feed.items] == [
            f"**Odile:** New gloves.\n\n**Brandt:** He lies.\n\n**Pim:** {pim}"
            for pim in ("What is in it?", "Still shut.")
        ]

    asyncio.run(perform())
    assert "**Pim:** What is in it?" in theatre.calls[1].messages[-1].content
