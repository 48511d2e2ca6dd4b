"""What an artifact says in the prompt, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from tests.artifacts.builders import artifact, inclusion, plan_with, reasons, said, version, wanted

from tavernkit.artifacts import ArtifactVersion, PromptCandidate, Retention, VersionSelector
from tavernkit.values import Json


def told(content: Json, format: str | None = None) -> str:
    return said(plan_with(wanted("x", content, mode="as_message", format=format)))[-1]


def test_g10_texts_are_told_as_they_are() -> None:
    text = '  {{char}} "quoted" \n <b>ü</b> {"a": 1}'
    assert [told(text, format) for format in ("text", "json", "markdown")] == [text] * 3


def test_g10_json_is_compact_sorted_and_in_plain_letters() -> None:
    value = {"b": [1, 2.5, None], "a": {"ž": "é", "y": True}}
    written = '{"a":{"y":true,"ž":"é"},"b":[1,2.5,null]}'
    assert told(value) == told(value, "json") == told(value, "text") == written
    assert told(value, "markdown") == f"```json\n{written}\n```"


@pytest.mark.parametrize("blank", ["", "   ", "\n\t\n"])
def test_g10_what_is_blank_is_not_included_and_logged(blank: str) -> None:
    plan = plan_with(wanted("x", blank, mode="as_message"))
    assert reasons(plan) == {"x": "empty"}
    assert len(plan.messages) == len(plan_with().messages)


MOODS = tuple(version(number, f"mood {number}") for number in (3, 4, 5))
STATES = tuple(version(number, {"n": number}) for number in (3, 4, 5))
LAST_TWO = VersionSelector(mode="last_n", n=2)
ALL = VersionSelector(mode="all")


def test_r19_latest_is_the_value_alone() -> None:
    assert said(plan_with(wanted("x", versions=MOODS, mode="as_message")))[-1] == "mood 5"


def several(
    versions: tuple[ArtifactVersion, ...], selector: VersionSelector, retention: Retention | None = None, **rules: Any
) -> PromptCandidate:
    normal = inclusion(mode="as_message", versions=selector, **rules)
    about = artifact(
        "x",
        visibility="prompt_only",
        content_type=versions[-1].content_type,
        inclusion=normal,
        retention=retention or Retention(),
    )
    return PromptCandidate(artifact=about, versions=versions)


def test_r19_last_n_is_the_value_and_what_came_before() -> None:
    assert said(plan_with(several(MOODS, LAST_TWO)))[-1] == "mood 4\n\nmood 5"
    assert said(plan_with(several(MOODS, ALL)))[-1] == "mood 3\n\nmood 4\n\nmood 5"


def test_g11_several_json_values_are_one_list() -> None:
    assert said(plan_with(several(STATES, LAST_TWO)))[-1] == '[{"n":4},{"n":5}]'
    assert said(plan_with(several(STATES[-1:], LAST_TWO)))[-1] == '[{"n":5}]'


def test_g11_several_markdown_texts_have_headings() -> None:
    expected = "### Version 4\n\nmood 4\n\n### Version 5\n\nmood 5"
    assert said(plan_with(several(MOODS, LAST_TWO, format="markdown")))[-1] == expected


def test_g11_they_are_one_message() -> None:
    assert len(plan_with(several(MOODS, ALL)).messages) == len(plan_with().messages) + 1


def test_g11_where_only_the_latest_is_kept_it_is_the_latest() -> None:
    overwrite = Retention(mode="windowed", max_versions=1)
    assert said(plan_with(several(STATES[-1:], LAST_TWO, overwrite)))[-1] == '{"n":5}'


def test_g11_asking_for_more_than_is_kept_is_warned_about() -> None:
    window = Retention(mode="windowed", max_versions=3)
    plan = plan_with(several(MOODS, VersionSelector(mode="last_n", n=5), window))
    assert [warning.code for warning in plan.warnings] == ["artifact_window"]
    for enough in (LAST_TWO, ALL, VersionSelector(), VersionSelector(mode="last_n", n=3)):
        assert plan_with(several(MOODS, enough, window)).warnings == ()


@pytest.mark.parametrize(
    ("format", "expected"), [("text", "a\n\nb"), ("markdown", "### Version 1\n\na\n\n### Version 3\n\nb")]
)
def test_g10_g11_of_several_versions_those_that_say_nothing_are_passed_over(format: str, expected: str) -> None:
    some = tuple(version(number, text) for number, text in enumerate(("a", " ", "b"), start=1))
    assert said(plan_with(several(some, ALL, format=format)))[-1] == expected
    silent = tuple(version(number, " \n") for number in (1, 2))
    assert reasons(plan_with(several(silent, ALL, format=format))) == {"x": "empty"}
