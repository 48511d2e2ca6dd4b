"""Branches, loops and runs within runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.risuai.triggers.builders import effect, end, run, scene, set_, trigger

from tavernkit.risuai.errors import TriggerRecursionError
from tavernkit.risuai.triggers import TriggerOutcome, run_triggers


def test_one_branch_of_an_if_runs_and_the_story_goes_on_behind_both() -> None:
    def taken(value: str) -> dict[str, str]:
        effects = (
            effect("If", source="n", target="5", condition="="),
            set_("branch", "yes", indent=1),
            end(1),
            effect("Else"),
            set_("branch", "no", indent=1),
            end(1),
            set_("behind", "1"),
        )
        return dict(run(*effects, variables={"n": value}).variables)

    assert taken("5.0") == {"branch": "yes", "behind": "1"}
    assert taken("6") == {"branch": "no", "behind": "1"}


def test_an_inner_branch_ends_only_its_own_level() -> None:
    result = run(
        effect("IfAdvanced", source="1", target="2", condition="="),
        effect("IfAdvanced", indent=1, source="1", target="1", condition="="),
        set_("inner", "1", indent=2),
        end(2),
        end(1),
        set_("behind", "1"),
    )
    assert result.variables == {"behind": "1"}


@pytest.mark.parametrize(
    ("condition", "left", "right", "holds"),
    [
        ("∈", "a", '["a"]', True),
        ("∈", "a", "not json", False),
        ("∉", "a", "not json", True),
        ("∋", '"a text"', "text", True),
        ("∌", '["a"]', "b", True),
        ("≒", "1", "1.00001", True),
        ("≒", "A b", "aB", True),
        ("≡", "1", "true", True),
        ("≡", "0", "false", True),
        (">", "x", "1", False),
        ("?", "1", "1", False),
    ],
)
def test_comparisons(condition: str, left: str, right: str, holds: bool) -> None:
    result = run(
        effect("IfAdvanced", source=left, target=right, condition=condition), set_("hit", "1", indent=1), end(1)
    )
    assert ("hit" in result.variables) is holds


def test_a_counted_loop_runs_once_at_least_and_its_counter_is_never_set_back() -> None:
    def turns(outer: str, inner: str) -> str:
        result = run(
            effect("LoopNTimes", value=outer),
            effect("LoopNTimes", indent=1, value=inner),
            set_("i", "1", "+=", indent=2),
            end(2, loop=True),
            end(1, loop=True),
        )
        return str(result.variables["i"])

    assert turns("1", "0") == "1"
    assert turns("1", "3") == "3"
    assert turns("2", "3") == "4"


def test_break_leaves_the_loop() -> None:
    result = run(
        effect("Loop"),
        set_("i", "1", "+=", indent=1),
        effect("If", indent=1, source="i", target="4", condition=">="),
        effect("BreakLoop", indent=2),
        end(2),
        end(1, loop=True),
        set_("done", "1"),
    )
    assert result.variables == {"i": "4", "done": "1"}


def test_stopping_a_trigger_leaves_the_next_one() -> None:
    story = scene(trigger(effect("StopTrigger"), set_("a", "1")), trigger(set_("b", "1")))
    assert run_triggers(story, "start").variables == {"b": "1"}


def test_local_variables_hide_those_of_the_chat_until_their_level_ends() -> None:
    result = run(
        effect("IfAdvanced", source="1", target="1", condition="="),
        effect("DeclareLocalVar", indent=1, var="n", value="100"),
        set_("n", "1", "+=", indent=1),
        effect("SetVar", 1, var="seen", value="n", valueType="var", operator="="),
        end(1),
        effect("SetVar", 0, var="behind", value="n", valueType="var", operator="="),
        variables={"n": "5"},
    )
    assert result.variables == {"seen": "101", "behind": "5"}


LOOPING = (
    trigger({"type": "runtrigger", "value": "again"}),
    trigger(set_("n", "1", "+="), {"type": "runtrigger", "value": "again"}, type="manual", name="again"),
)


def test_triggers_run_each_other_ten_times_and_no_more() -> None:
    result = run_triggers(scene(*LOOPING), "start")
    assert result.outcome is TriggerOutcome.DONE
    assert result.variables == {"n": "10"}
    assert [warning.code for warning in result.warnings] == ["trigger_recursion"]


def test_a_strict_run_raises_instead() -> None:
    with pytest.raises(TriggerRecursionError):
        run_triggers(scene(*LOOPING), "start", strict=True)


def test_low_level_access_lifts_that_limit_but_not_the_depth() -> None:
    result = run_triggers(scene(*LOOPING, lowLevelAccess=True), "start")
    assert result.outcome is TriggerOutcome.FAILED
    assert "levels deep" in result.warnings[0].message


def test_a_run_within_a_run_hands_its_messages_and_its_stop_back() -> None:
    said = effect("Impersonate", role="user", value="more")
    story = scene(
        trigger({"type": "runtrigger", "value": "sub"}, effect("GetMessageCount", outputVar="count")),
        trigger(said, {"type": "stop"}, type="manual", name="sub"),
    )
    result = run_triggers(story, "start")
    assert result.variables == {"count": "4"}
    assert result.stop_sending


COPY = {"type": "v2SetVar", "var": "copy", "operator": "=", "value": "{{getvar::n}}", "valueType": "value", "indent": 0}


def test_after_a_change_of_the_character_macros_see_the_chat_as_it_was_until_the_next_write() -> None:
    changed = effect("SetCharacterDesc", value="an old sailor")
    again = effect("SetVar", var="again", value="{{getvar::n}}", operator="=")
    result = run(set_("n", "2"), changed, COPY, again, variables={"n": "1"})
    assert result.variables == {"n": "2", "copy": "1", "again": "2"}


def test_what_a_run_wrote_that_ended_early_is_seen_by_macros_only_and_lost_with_the_next_write() -> None:
    ending = effect("GetDisplayState", outputVar="n")
    known = effect("SetVar", var="known", value="n", valueType="var", operator="=")

    def left(*behind: dict[str, Any]) -> dict[str, Any]:
        inner = trigger(set_("n", "2"), ending, type="manual", name="inner")
        story = scene(trigger(effect("RunTrigger", target="inner"), *behind), inner, variables={"n": "1"})
        return dict(run_triggers(story, "start").variables)

    assert left() == {"n": "2"}
    assert left(COPY, known) == {"n": "1", "copy": "2", "known": "1"}
