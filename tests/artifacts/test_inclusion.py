"""The rules for the prompt: shorthand, normal form, contradictions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.artifacts.builders import artifact, inclusion, read_inclusion, written

from tavernkit.artifacts import Anchor, InclusionRules, PromptInclusion, VersionSelector
from tavernkit.artifacts.candidate import InclusionDecision
from tavernkit.errors import InvalidArtifactError

AFTER_LAST_USER = Anchor(selector="after_last_user")
NESTED: Any = "after_last_user"
for _ in range(3_000):
    NESTED = {"type": "relative_to_anchor", "offset": -1, "anchor": NESTED}
FOUR_BACK = Anchor(selector="relative_to_end", offset=-4)


def test_r6_no_rules_mean_never() -> None:
    assert read_inclusion(None) is None
    assert not InclusionDecision(artifact="art.x", operation="insert", reason="not_visible").is_included


def test_r7_none_means_never() -> None:
    assert read_inclusion({"mode": "none", "role": "user"}) is None
    assert InclusionRules(mode="none").normal() is None


def test_g1_append_after_last_user() -> None:
    assert inclusion(mode="append_after_last_user") == PromptInclusion(
        operation="insert",
        target="timeline",
        anchor=AFTER_LAST_USER,
        place="after",
        phase="after_last_user",
        role="developer",
        depth_policy="strict_drop",
    )


def test_g1_prepend_system() -> None:
    assert inclusion(mode="prepend_system") == PromptInclusion(
        operation="insert", target="system", place="before", phase="system", role="developer"
    )


def test_g1_as_message_is_the_tail_unless_there_is_an_anchor() -> None:
    assert inclusion(mode="as_message") == PromptInclusion(
        operation="insert", target="timeline", place="after", phase="tail", role="developer"
    )
    anchored = inclusion(mode="as_message", anchor=FOUR_BACK, role="user")
    assert (anchored.anchor, anchored.place, anchored.phase, anchored.role) == (
        FOUR_BACK,
        "before",
        "near_anchor",
        "user",
    )


def test_g1_what_is_said_wins_over_the_shorthand() -> None:
    said = inclusion(mode="append_after_last_user", place="before", priority=-3, depth_policy="relocate_to_nearest")
    assert (said.place, said.phase, said.priority) == ("before", "near_anchor", -3)
    assert said.depth_policy == "relocate_to_nearest"
    elsewhere = inclusion(mode="append_after_last_user", anchor=FOUR_BACK)
    assert elsewhere.anchor == FOUR_BACK


@pytest.mark.parametrize(
    "rules",
    [
        {"operation": "insert", "place": "replace", "anchor": AFTER_LAST_USER},
        {"operation": "insert", "place": "wrap", "anchor": AFTER_LAST_USER},
        {"operation": "replace", "place": "before", "anchor": AFTER_LAST_USER},
        {"operation": "replace", "place": "wrap", "anchor": AFTER_LAST_USER},
        {"operation": "wrap", "place": "after", "anchor": AFTER_LAST_USER},
        {"operation": "wrap", "place": "replace", "anchor": AFTER_LAST_USER},
        {"operation": "merge_section", "place": "after", "section": "main"},
        {"operation": "replace", "target": "timeline", "anchor": AFTER_LAST_USER},
        {"operation": "merge_section", "target": "timeline", "section": "x"},
        {"target": "system", "phase": "tail"},
        {"target": "timeline", "phase": "system"},
        {"target": "system", "anchor": FOUR_BACK},
        {"target": "system", "role": "user"},
        {"target": "message_ref"},
        {"phase": "near_anchor"},
        {"operation": "replace", "anchor": Anchor(selector="relative_to_end", offset=0)},
        {"operation": "wrap", "anchor": AFTER_LAST_USER, "role": "user"},
        {"operation": "merge_section"},
        {"operation": "merge_section", "section": "x", "anchor": AFTER_LAST_USER},
        {"operation": "merge_section", "section": "x", "format": "json", "strategy": "append"},
        {"operation": "merge_section", "section": "x", "versions": VersionSelector(mode="all")},
        {"strategy": "append"},
        {"section": "main", "anchor": AFTER_LAST_USER},
        {"priority": float("nan")},
        {"priority": float("inf")},
    ],
)
def test_g1_contradictions_are_refused_with_a_sentence(rules: dict[str, Any]) -> None:
    with pytest.raises(InvalidArtifactError, match=r"contradicts itself: .{12,}\.$"):
        inclusion(**rules)


def test_g1_a_phase_can_say_the_anchor() -> None:
    assert inclusion(phase="after_last_user") == inclusion(mode="append_after_last_user")
    with pytest.raises(InvalidArtifactError, match="needs a role"):
        PromptInclusion(operation="insert", target="timeline", phase="tail", place="after")


def test_r8_roles_and_formats() -> None:
    for role in ("system", "developer", "assistant", "user"):
        found = read_inclusion({"mode": "as_message", "role": role})
        assert found is not None
        assert found.role == role
    for wrong in ({"mode": "as_message", "role": "narrator"}, {"mode": "as_message", "format": "yaml"}):
        with pytest.raises(InvalidArtifactError, match="must be one of"):
            read_inclusion(wrong)


def test_r10_nothing_speaks_as_the_user_by_default() -> None:
    for mode in ("append_after_last_user", "prepend_system", "as_message"):
        found = read_inclusion({"mode": mode})
        assert found is not None
        assert found.role == "developer"
    projection = inclusion(operation="replace", anchor=AFTER_LAST_USER)
    assert projection.role is None, "what replaces the user's words keeps the user's role"


def test_r11_r12_operations_choose_their_targets() -> None:
    assert inclusion(operation="insert").target == "timeline"
    assert inclusion(operation="replace").target == "system"
    assert inclusion(operation="replace", anchor=AFTER_LAST_USER).target == "message_ref"
    assert inclusion(operation="wrap", section="main").target == "system"
    assert inclusion(operation="merge_section", section="main").target == "system"
    assert inclusion(section="main").target == "system"
    assert inclusion(phase="system").place == "after"


def test_r15_a_place_can_say_the_operation() -> None:
    assert inclusion(place="replace", anchor=AFTER_LAST_USER).operation == "replace"
    assert inclusion(place="wrap").operation == "wrap"


@pytest.mark.parametrize(
    ("anchor", "place"),
    [
        ("after_last_user", "after"),
        ("before_last_assistant", "before"),
        ("after_message_id:m1", "after"),
        ("relative_to_end(offset=-4)", "before"),
        ("relative_to_end(offset=0)", "after"),
        ("relative_to_anchor(anchor=after_last_user, offset=-4)", "before"),
        ("relative_to_anchor(anchor=after_last_user, offset=0)", "after"),
    ],
)
def test_r15_each_anchor_has_its_usual_side(anchor: str, place: str) -> None:
    assert inclusion(anchor=Anchor.parse(anchor)).place == place


@pytest.mark.parametrize(
    ("source", "anchor"),
    [
        ({"selector": "after_last_user"}, "after_last_user"),
        ({"type": "after_message_id", "messageId": "m9"}, "after_message_id:m9"),
        (
            {"kind": "relative_to_end", "offset": -4, "roleFilter": "user"},
            "relative_to_end(offset=-4, roleFilter=user)",
        ),
        (
            {"type": "relative_to_anchor", "anchor": "after_last_user", "offset": -2},
            "relative_to_anchor(anchor=after_last_user, offset=-2)",
        ),
        ("relative_to_end(roleFilter=assistant, offset=-1)", "relative_to_end(offset=-1, roleFilter=assistant)"),
    ],
)
def test_r14_an_anchor_is_read_from_text_and_from_an_object(source: object, anchor: str) -> None:
    found = read_inclusion({"anchor": source})
    assert found is not None
    assert str(found.anchor) == anchor


@pytest.mark.parametrize(
    "wrong",
    [
        "somewhere",
        "relative_to_end(4)",
        "relative_to_end(offset=-4, colour=red)",
        "relative_to_end(offset=-4, roleFilter=tool)",
        "relative_to_end(offset=2)",
        "after_message_id:",
        "relative_to_anchor(anchor=relative_to_anchor(anchor=after_last_user, offset=-1), offset=-1)",
        "relative_to_anchor(anchor=relative_to_end(offset=0), offset=-1)",
        "relative_to_anchor(after_last_user, offset=-1)",
        "relative_to_anchor(anchor=after_last_user, offset=-1.5)",
        "relative_to_anchor(anchor=after_last_user)",
        "relative_to_anchor(anchor=" + " " * 20_000,
        "relative_to_anchor(anchor=" * 2_000 + "after_last_user" + ", offset=-1)" * 2_000,
        f"relative_to_anchor(anchor=after_last_user, offset=-{'9' * 5_000})",
        f"relative_to_end(offset=-{'9' * 5_000})",
        "relative_to_end(offset=-\u0664)",
        {"offset": -4},
        {"type": "relative_to_end"},
        {"type": "after_last_user", "offset": -1},
        {"type": "after_last_user", "roleFilter": "user"},
        {"type": "relative_to_anchor", "offset": -1},
        {"type": "relative_to_end", "offset": -(10**9)},
        NESTED,
        7,
    ],
)
def test_r14_an_anchor_that_means_nothing_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidArtifactError):
        read_inclusion({"anchor": wrong})


@pytest.mark.parametrize(
    ("source", "selector"),
    [
        ({}, VersionSelector()),
        ({"versionSelector": "latest"}, VersionSelector()),
        ({"versionSelector": "all"}, VersionSelector(mode="all")),
        ({"versionSelector": "last_n", "lastN": 3}, VersionSelector(mode="last_n", n=3)),
        ({"versionSelector": {"mode": "last_n", "n": 2}}, VersionSelector(mode="last_n", n=2)),
    ],
)
def test_r19_the_versions_that_are_told(source: dict[str, Any], selector: VersionSelector) -> None:
    found = read_inclusion({"mode": "as_message", **source})
    assert found is not None
    assert found.versions == selector
    assert read_inclusion(written(artifact(content_type="json", inclusion=found))["promptInclusion"]) == found


@pytest.mark.parametrize(
    "source",
    [
        {"versionSelector": "last_n"},
        {"versionSelector": "last_n", "lastN": 0},
        {"versionSelector": "latest", "lastN": 3},
        {"lastN": 3},
    ],
)
def test_r19_last_n_needs_a_number_and_a_number_last_n(source: dict[str, Any]) -> None:
    with pytest.raises(InvalidArtifactError):
        read_inclusion({"mode": "as_message", **source})


@pytest.mark.parametrize(
    "rules",
    [
        {"mode": "append_after_last_user"},
        {"mode": "prepend_system", "priority": 1.5},
        {"mode": "as_message", "role": "assistant", "format": "markdown"},
        {"operation": "merge_section", "section": "weather", "strategy": "append"},
        {"operation": "wrap", "anchor": AFTER_LAST_USER},
        {"operation": "replace", "section": "main"},
        {"phase": "early", "versions": VersionSelector(mode="all")},
    ],
)
def test_g1_the_normal_form_is_written_and_read_back(rules: dict[str, Any]) -> None:
    found = inclusion(**rules)
    assert read_inclusion(written(artifact(content_type="json", inclusion=found))["promptInclusion"]) == found
