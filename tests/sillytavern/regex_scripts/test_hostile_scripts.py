"""Scripts that are broken, slow or greedy: the text stays, and a sentence says why."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from tests.sillytavern.regex_scripts.builders import expander, script, scripts
from tests.support.hanging import not_hanging

from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.regex_scripts import RegexBudget, RegexScript, apply_scripts, run_script

pytestmark = pytest.mark.slow

HOSTILE = "/^(a+)+$/"
TRAP = "a" * 40 + "!"


def applied(text: str, *listed: RegexScript, **how: Any) -> tuple[str, list[BuildWarning]]:
    problems: list[BuildWarning] = []
    result = apply_scripts(text, scripts(*listed), 2, expand=expander(), on_problem=problems.append, **how)
    return result, problems


@pytest.mark.parametrize(
    "find", ["/(/g", "/a/x", "\n", "(?<n>a)(?<n>b)", "/[b-a]/", "a{2,1}", "(" * 9_000, "a" * 15_000, "a" * 50_000]
)
def test_a_broken_pattern_is_reported_and_the_other_scripts_run(find: str) -> None:
    result, (problem,) = applied("ab", script(find, "?", scriptName="Broken"), script("b", "c"))
    assert result == "ac"
    assert problem.code == "regex_invalid"
    assert problem.message.startswith("The regex script 'Broken' was not applied. ")
    assert problem.message.endswith(".")
    assert len(problem.message) < 300
    assert problem.where == {"script": "Broken"}


def test_a_broken_pattern_is_reported_once_for_a_build() -> None:
    budget = RegexBudget()
    problems = [problem for _ in range(3) for problem in applied("a", script("("), budget=budget)[1]]
    assert len(problems) == 1


def test_a_script_without_a_name_is_called_by_what_it_has() -> None:
    assert applied("a", script("(", scriptName="", id="7"))[1][0].where == {"script": "7"}
    assert applied("a", script("((", scriptName=""))[1][0].where == {"script": "(("}


@pytest.mark.parametrize("mode", [0, 1])
def test_a_slow_pattern_is_stopped_and_the_other_scripts_run(mode: int) -> None:
    slow = script(HOSTILE, "?", scriptName="Slow", substituteRegex=mode)
    with not_hanging():
        result, (problem,) = applied(TRAP, script("^", "a"), slow, script("b", "?"), script("!", "."))
    assert result == "a" * 41 + "."
    assert problem.code == "regex_timeout"
    assert "'Slow'" in problem.message


def test_a_slow_script_is_given_up_after_three_texts() -> None:
    budget = RegexBudget(60)
    slow = script(HOSTILE, "?", scriptName="Slow")
    with not_hanging():
        results = [applied("a" * number + "!", slow, script("!", "."), budget=budget) for number in range(40, 90)]
    assert all(result.endswith(".") for result, _ in results)
    problems = [problem.message for _, found in results for problem in found]
    assert len(problems) == 3
    assert [message.endswith("It is not tried again.") for message in problems] == [False, False, True]


def test_all_scripts_together_have_a_budget() -> None:
    clock = count(step=0.01)  # every look at the clock takes a hundredth of a second
    budget = RegexBudget(0.5, clock=lambda: next(clock))
    many = [script("/a/", f"a{number}") for number in range(200)]
    result, (problem,) = applied("a", *many, budget=budget)
    assert 2 < len(result) < 400
    assert problem.code == "regex_timeout"
    assert "The 0.5 s that all scripts have together were used up" in problem.message
    assert applied("a", *many, budget=budget) == ("a", [])


def test_many_slow_scripts_end_with_the_budget() -> None:
    many = [script(f"/^(a+)+{number}$/", scriptName=f"Slow {number}") for number in range(1000)]
    with not_hanging():
        result, problems = applied(TRAP, *many, budget=RegexBudget(0.3))
    assert result == TRAP
    assert {problem.code for problem in problems} == {"regex_timeout"}


def test_time_between_runs_is_not_counted() -> None:
    moments = iter([0.0, 0.1, 100.0, 100.1])
    budget = RegexBudget(1, clock=lambda: next(moments))
    for _ in range(2):
        with budget.running():
            pass
    assert budget.left == pytest.approx(0.8)


def test_scripts_run_inside_a_macro_are_counted_once() -> None:
    moments = iter(range(100))
    budget = RegexBudget(50, clock=lambda: next(moments))
    inner = script("b", "c")

    def expand(text: str, **_: Any) -> str:
        return run_script(inner, text, expand=expander(), budget=budget)

    assert run_script(script("a", "b"), "a", expand=expand, budget=budget) == "c"
    assert budget.left == 50 - (next(moments) - 1)


@pytest.mark.parametrize(
    ("find", "replace", "text"),
    [
        ("/a/g", "$2", "a" * 5_000),  # the whole text for every character of it
        ("/a/", "$2" * 50_000, "a" * 1_000),
        ("/a/g", "x" * 10_000, "a" * 1_000),
        ("/a/g", "{{user}}" * 500, "a" * 1_000),
        ("/^/", "more", "a" * 1_000_000),
    ],
)
def test_a_text_cannot_grow_without_end(find: str, replace: str, text: str) -> None:
    result, problems = applied(text, script(find, replace))
    assert result == text
    assert [problem.code for problem in problems] == ["regex_too_long"]
    assert "1,000,000 characters" in problems[0].message


def test_what_macros_give_is_counted_too() -> None:
    problems: list[BuildWarning] = []
    long_name = expander(user="x" * 600)
    result = run_script(script("/a/g", "{{user}}" * 500), "aaaa", expand=long_name, on_problem=problems.append)
    assert (result, [problem.code for problem in problems]) == ("aaaa", ["regex_too_long"])


def test_macros_in_a_pattern_may_break_it() -> None:
    broken = script("/{{getvar::open}}/", "?", substituteRegex=1)
    problems: list[BuildWarning] = []
    result = run_script(broken, "a(", expand=expander(open="("), on_problem=problems.append)
    assert (result, [problem.code for problem in problems]) == ("a(", ["regex_invalid"])


def test_a_long_text_may_become_shorter() -> None:
    result, problems = applied("ab" * 600_000, script("/b.*/", "!"), budget=RegexBudget(20))
    assert (result, problems) == ("a!", [])


def test_captures_that_fill_the_memory_are_reported() -> None:
    result, (problem,) = applied("a" * 30_000, script("/(?=(.*))/g", ""), budget=RegexBudget(20))
    assert result == "a" * 30_000
    assert problem.code == "regex_timeout"


def test_a_text_too_large_for_the_engine_is_left_as_it_is() -> None:
    text = "海" * 12_000_000
    problems: list[BuildWarning] = []
    result = run_script(script("海"), text, expand=expander(), on_problem=problems.append, budget=RegexBudget(20))
    assert result == text
    assert [problem.code for problem in problems] == ["regex_timeout"]


def test_endless_trimming_ends_with_the_budget() -> None:
    greedy = script("/(a)/g", "$1" * 50, trimStrings=["{{char}}"] * 1_000)
    with not_hanging():
        result, problems = applied("a" * 1_000, greedy, budget=RegexBudget(0.2))
    assert result == "a" * 1_000
    assert [problem.code for problem in problems] == ["regex_timeout"]


def test_without_anybody_to_tell_nothing_is_raised() -> None:
    assert apply_scripts("a", scripts(script("(")), 2, expand=expander()) == "a"
