"""Kinds of steps that are not ours: read, checked, described, run and written like those that are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

import pytest

from tavernkit.artifacts.pipelines import (
    Profile,
    Step,
    StepKinds,
    StepScope,
    check_profile,
    read_profile,
    write_profile,
)
from tavernkit.artifacts.pipelines.step import step_kinds
from tavernkit.artifacts.wire import inlined_schema


class EchoStep(Step, frozen=True, kw_only=True, tag="tests_echo"):
    needs: ClassVar[Mapping[str, str]] = {**Step.needs, "words": "An echo needs words."}
    blank: ClassVar[Mapping[str, object]] = {**Step.blank, "words": ""}

    words: str
    times_heard: int = 1

    @property
    def makes(self) -> Literal["text", "json"]:
        return "text"

    async def run(self, scope: StepScope) -> object:
        return " ".join([self.words] * self.times_heard)


class IdleStep(Step, frozen=True, kw_only=True, tag="tests_idle"):
    """It does not say what it does."""


@pytest.fixture(autouse=True)
def kinds() -> Iterator[StepKinds]:
    kinds = step_kinds()
    kinds.register(EchoStep)
    yield kinds
    del kinds["tests_echo"]


def profile(**fields: object) -> dict[str, object]:
    step = {"id": "echo", "hook": "before", "kind": "tests_echo", **fields}
    return {"id": "p", "pipelines": [{"id": "q", "steps": [step]}]}


def test_a_registered_kind_is_read_and_written_with_its_own_fields() -> None:
    read = read_profile(profile(words="Hm?", timesHeard=3))
    (step,) = read.pipelines[0].steps
    assert isinstance(step, EchoStep)
    assert (step.kind, step.words, step.times_heard) == ("tests_echo", "Hm?", 3)
    assert read_profile(write_profile(read)) == read


def test_what_is_wrong_with_it_is_told_at_its_place() -> None:
    artifact = {"tag": "x", "access": "run_only", "contentType": "json", "pointer": "/a"}
    found = [
        (problem.path, problem.message) for problem in check_profile(profile(timesHeard="x", artifacts=[artifact]))
    ]
    assert found == [
        ("pipelines[0].steps[0].words", "An echo needs words."),
        ("pipelines[0].steps[0].timesHeard", "Expected a number, found text."),
        (
            "pipelines[0].steps[0].artifacts[0].pointer",
            "A pointer finds something in JSON, and this step makes a text.",
        ),
    ]


def test_a_kind_that_nobody_has_registered_is_refused_with_those_that_are() -> None:
    (problem,) = check_profile(profile(kind="tests_idle"))
    assert problem.path == "pipelines[0].steps[0].kind"
    assert problem.message.endswith(
        "must be one of template, llm, transform, message_transform, guard, python, tests_echo."
    )


def test_the_schema_describes_it() -> None:
    steps = inlined_schema(Profile)["properties"]["pipelines"]["items"]["properties"]["steps"]["items"]["anyOf"]
    assert [each["properties"]["kind"]["enum"] for each in steps][-1] == ["tests_echo"]
    assert steps[-1]["properties"]["timesHeard"]["type"] == "integer"


def test_a_kind_that_is_taken_or_cannot_be_run_is_a_mistake_of_the_program(kinds: StepKinds) -> None:
    with pytest.raises(ValueError, match="'tests_echo' is registered already"):
        kinds.register(EchoStep)
    with pytest.raises(ValueError, match="'tests_idle' cannot be run: IdleStep has no method run"):
        kinds.register(IdleStep)
    assert list(kinds)[:2] == ["template", "llm"]
