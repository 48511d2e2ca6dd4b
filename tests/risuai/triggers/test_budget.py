"""Triggers of strangers cannot take more than they may."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.triggers.builders import effect, end, run, scene, set_, trigger

from tavernkit.risuai.triggers import TriggerBudget, TriggerOutcome, run_triggers
from tavernkit.risuai.triggers.effects import EFFECTS
from tavernkit.text.time_budget import TimeBudget

ENDLESS = (effect("Loop"), end(1, loop=True))


def test_an_endless_loop_ends() -> None:
    result = run(*ENDLESS, budget=TriggerBudget(steps=1000))
    assert result.outcome is TriggerOutcome.FAILED
    assert "more steps" in result.warnings[0].message


def test_a_text_that_doubles_stops_growing() -> None:
    doubling = {"type": "v2ConcatString", "source1": "s", "source2": "s", "outputVar": "s", "indent": 1}
    budget = TriggerBudget(characters=10_000)
    result = run(set_("s", "12345678"), ENDLESS[0], doubling, ENDLESS[1], budget=budget)
    assert "more text" in result.warnings[0].message
    assert len(result.variables["s"]) <= 10_000


def test_slow_patterns_use_up_the_time_of_the_run() -> None:
    slow = effect("RegexTest", 1, value="a" * 40 + "b", regex="^(a+)+$", flags="", outputVar="out")
    ticking = iter(range(10_000))
    budget = TriggerBudget(time=TimeBudget(20.0, clock=lambda: float(next(ticking))))
    result = run(ENDLESS[0], slow, ENDLESS[1], budget=budget)
    assert "longer than the 20 s" in result.warnings[0].message


def test_the_runs_of_a_run_pay_from_the_same_budget() -> None:
    story = scene(
        trigger({"type": "runtrigger", "value": "sub"}),
        trigger(*ENDLESS, type="manual", name="sub"),
        lowLevelAccess=True,
    )
    result = run_triggers(story, "start", budget=TriggerBudget(steps=500))
    assert result.outcome is TriggerOutcome.FAILED
    assert result.warnings[0].where["trigger"] == "manual"


names = st.sampled_from(["a", "b", "list", "{{getvar::a}}", "[x]", ""])
values = st.sampled_from(
    [
        "0",
        "1",
        "-1",
        "9e9",
        "x",
        "(a+)+",
        "g",
        "$1$&",
        "[1,[2]]",
        '{"k":1,"2":null}',
        "null",
        '"😀"',
        "{{user}}",
        "{{#each",
    ]
)
kinds = st.sampled_from(["value", "var", "regex"])
_VALUE_FIELDS = (
    *("value", "index", "source", "source1", "source2", "target", "start", "end", "item", "key", "regex", "flags"),
    *("result", "replacement", "delimiter", "depth", "min", "max", "expression", "name", "content", "insertOrder"),
)


@st.composite
def effects(draw: st.DrawFn) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": draw(st.sampled_from(sorted(EFFECTS))), "indent": draw(st.integers(-1, 2))}
    fields.update({"var": draw(names), "varType": draw(kinds), "outputVar": draw(names), "inputVar": draw(names)})
    for name in draw(st.lists(st.sampled_from(_VALUE_FIELDS), unique=True, max_size=6)):
        fields[name] = draw(values)
        fields[f"{name}Type"] = draw(kinds)
    fields["operator"] = draw(st.sampled_from(["=", "+=", "%=", "?"]))
    fields["condition"] = draw(st.sampled_from(["=", "∈", "≒", "regex", "loose"]))
    fields["endOfLoop"] = draw(st.booleans())
    fields["role"] = draw(st.sampled_from(["user", "char"]))
    fields["location"] = draw(st.sampled_from(["start", "nowhere"]))
    return fields


programs = st.lists(effects(), max_size=8)
modes = st.sampled_from(["start", "display", "request", "manual"])


@given(programs, programs, modes, st.booleans())
def test_any_program_ends_within_its_budget(
    first: list[dict[str, Any]], second: list[dict[str, Any]], mode: Any, has_access: bool
) -> None:
    story = scene(
        trigger({"type": "runtrigger", "value": "t"}, *first, type=mode),
        trigger(*second, type=mode),
        variables={"a": "1", "list": '["a"]'},
        lowLevelAccess=has_access,
    )
    budget = TriggerBudget(steps=2_000, characters=50_000)
    result = run_triggers(story, mode, display_data=None if mode in ("start", "manual") else "[]", budget=budget)
    assert result.outcome is not TriggerOutcome.NO_TRIGGERS
    written = sum(len(value) for value in result.variables.values() if isinstance(value, str))
    assert written <= 50_000


@given(programs)
def test_a_program_does_the_same_again(program: list[dict[str, Any]]) -> None:
    def once() -> Any:
        result = run(*program, variables={"a": "1"}, budget=TriggerBudget(steps=2_000, characters=50_000))
        return result.outcome, result.variables, result.messages, result.warnings

    assert once() == once()


@pytest.mark.parametrize("indent", [10**12, -5, 1.5, "1", None])
def test_odd_levels_do_no_harm(indent: Any) -> None:
    odd = {"type": "v2DeclareLocalVar", "var": "n", "value": "1", "valueType": "value", "indent": indent}
    assert run(odd, set_("a", "1")).outcome is TriggerOutcome.DONE
