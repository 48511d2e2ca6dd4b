"""Profiles as JSON."""

from __future__ import annotations

import pytest
from tests.artifacts.pipelines.builders import fleeting, kept, pipeline, profile, source, step

from tavernkit.artifacts.pipelines import (
    EXAMPLES,
    LlmStep,
    StepCondition,
    TransformStep,
    commit_order,
    example_profile,
    read_profile,
    write_profile,
)
from tavernkit.errors import InvalidProfileError

EVERYTHING = source(
    pipeline(
        step("ask", "guard", template="{{ true }}"),
        step("judge", "guard", engine="llm", prompt="Is it night?", provider="own", model="small"),
        step(
            "think", "llm", dependsOn=["ask"], runConditions=[{"guard": "ask", "equals": False}], order=3,
            required=True, everyNTurns=2, timeoutSeconds=9.5, output="json", schema={"type": "object"},
            sampling={"temperature": 0.2}, system="Be brief.",
            artifacts=[kept("thought", contentType="json", pointer="/inner"), fleeting("x", contentType="json")],
        ),
        step("clean", "transform", source="lastUserMessage", rules=[{"pattern": "a+", "replacement": "a"}]),
        step("patch", "transform", "after", source="reply", default={}, patch=[{"op": "remove", "path": "/a"}]),
        step("apply", "transform", "after", source="art.w.value", patchSource="run.changes"),
        step("say", "message_transform", template="{{ lastUserMessage }}!", label="normalized", select=False),
        step("count", "python", "after", function="count", arguments={"n": 1}, enabled=False, name="Count"),
        triggers=["manual", "api"],
    )
)  # fmt: skip


def test_a_profile_is_written_as_it_is_read() -> None:
    read = read_profile(EVERYTHING)
    assert read_profile(write_profile(read)) == read
    assert [read_profile(write_profile(example_profile(id))) for id in EXAMPLES] == [*map(example_profile, EXAMPLES)]


def test_camel_case_and_snake_case_say_the_same() -> None:
    camel = step("a", "llm", dependsOn=["g"], runConditions=[{"guard": "g"}], everyNTurns=3, timeoutSeconds=5)
    snake = step("a", "llm", depends_on=["g"], run_conditions=[{"guard": "g"}], every_n_turns=3, timeout_seconds=5)
    guard = step("g", "guard", template="true")
    assert profile(camel, guard) == profile(snake, guard)
    read = profile(camel, guard).pipelines[0].steps[0]
    assert (read.conditions, read.every_n_turns, read.timeout) == ((StepCondition(guard="g"),), 3, 5)


def test_the_hooks_have_their_long_names_too() -> None:
    read = profile(step("a", hook="before_main_llm"), step("b", hook="after_main_llm"))
    assert [one.hook for one in read.pipelines[0].steps] == ["before", "after"]


def test_bodies_are_typed() -> None:
    steps = {one.id: one for one in read_profile(EVERYTHING).pipelines[0].steps}
    think, clean = steps["think"], steps["clean"]
    assert isinstance(think, LlmStep)
    assert (think.output, think.sampling) == ("json", {"temperature": 0.2})
    assert isinstance(clean, TransformStep)
    assert clean.makes == "text"


def test_an_unusable_profile_is_refused_with_every_problem_at_its_place() -> None:
    with pytest.raises(InvalidProfileError, match=r"pipelines\[0\].steps\[0\].kind.*\n.*steps\[1\].dependsOn\[0\]"):
        profile(step("a", "dance"), step("b", dependsOn=["c"]))


def test_the_order_of_commits_is_dependencies_then_order_then_the_list_of_the_profile() -> None:
    read = profile(step("z"), step("b", order=1), step("a", order=1, dependsOn=["y"]), step("y", order=2), step("x"))
    assert [one.id for one in commit_order(read.pipelines[0].steps)] == ["z", "x", "b", "y", "a"]
