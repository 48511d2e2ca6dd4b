"""The order of artifacts in the prompt is total, and does not know who finished first."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import STORY, inclusion_report, plan_with, wanted

from tavernkit.artifacts import Anchor, PromptCandidate
from tavernkit.artifacts.candidate import sort_key

anchors = st.sampled_from(
    [
        None,
        Anchor(selector="after_last_user"),
        Anchor(selector="before_last_assistant"),
        Anchor(selector="after_message_id", message_id="m1"),
        Anchor(selector="relative_to_end", offset=-3),
        Anchor(selector="relative_to_end", offset=-40),
    ]
)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    priority = draw(st.integers(-2, 2))
    anchor = draw(anchors)
    made: dict[str, Any] = {"priority": priority}
    if anchor is None:
        made |= draw(
            st.sampled_from(
                [{"mode": "prepend_system"}, {"phase": "early"}, {"phase": "tail"}, {"phase": "system"},
                 {"operation": "merge_section", "section": "weather", "strategy": "append"},
                 {"operation": "replace", "section": "main"}, {"operation": "wrap"}]
            )
        )  # fmt: skip
        return made
    made |= {"anchor": anchor, "operation": draw(st.sampled_from(["insert", "insert", "replace", "wrap"]))}
    if made["operation"] == "insert":
        made["place"] = draw(st.sampled_from(["before", "after"]))
        made["depth_policy"] = draw(st.sampled_from(["strict_drop", "clamp_to_oldest_kept", "relocate_to_nearest"]))
    return made


@st.composite
def crowds(draw: st.DrawFn) -> list[PromptCandidate]:
    tags = draw(st.lists(st.text("abc_", min_size=1, max_size=3).map("t".__add__), max_size=8, unique=True))
    order = st.tuples(st.integers(0, 1), st.integers(0, 2))
    visibility = st.sampled_from(["prompt_only", "prompt_and_ui", "prompt_only", "ui_only"])
    return [
        wanted(tag, f"[{tag}]", order=draw(order), about={"visibility": draw(visibility)}, **draw(rules()))
        for tag in tags
    ]


@given(crowds(), st.randoms(use_true_random=False))
def test_r18_the_prompt_does_not_depend_on_who_finished_first(
    crowd: list[PromptCandidate], chance: random.Random
) -> None:
    shuffled = list(crowd)
    chance.shuffle(shuffled)
    one, other = plan_with(*crowd), plan_with(*shuffled)
    assert one.messages == other.messages
    assert one.fingerprint() == other.fingerprint()
    assert inclusion_report(one) == inclusion_report(other)


@given(crowds())
def test_g6_no_two_artifacts_have_the_same_place_in_the_order(crowd: list[PromptCandidate]) -> None:
    keys = [sort_key(item, item.artifact.inclusion) for item in crowd if item.artifact.inclusion is not None]
    assert len(set(keys)) == len(crowd)


@given(crowds())
def test_g2_messages_stay_in_their_order_and_every_artifact_is_accounted_for(crowd: list[PromptCandidate]) -> None:
    plan = plan_with(*crowd)
    assert len(inclusion_report(plan).decisions) == len(crowd)
    text = "\n".join(message.content for message in plan.messages)
    for decision in inclusion_report(plan).decisions:
        assert text.count(f"[{decision.artifact.removeprefix('art.')}]") == decision.is_included
    numbers = [block.source["id"] for block in plan.enabled_blocks if str(block.source["id"]).startswith("message:")]
    assert numbers == [f"message:{place}" for place in range(len(STORY))]
