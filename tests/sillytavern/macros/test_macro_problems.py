"""What cannot be answered stays as text and is reported with name and place."""

from __future__ import annotations

import pytest

from tavernkit.sillytavern.errors import MacroError, MacroSyntaxError, UnconsumedMacroError, UnknownMacroError
from tavernkit.sillytavern.macros import Environment, MacroLimits, MacroProblem, ParserMacros


def problems(text, version="1.19", **fields):
    found = []
    ParserMacros(version).expand(text, Environment(user_name="Zed", **fields), on_problem=found.append)
    return [(problem.code, problem.name, problem.position) for problem in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}} and {{newline::2}}", []),
        ("Hi {{nobody}}", [("unknown_macro", "nobody", 3)]),
        ("<USER>: {{nobody}}", [("unknown_macro", "nobody", 8)]),
        ("{{reverse::{{nobody}}}}", [("unknown_macro", "nobody", 11)]),
        ("a {{user", [("macro_syntax", "", 2)]),
        ("{{space::x}}", [("macro_syntax", "space", 0)]),
        ("{{user::x}}", [("macro_syntax", "user", 0)]),
        ("a{{/if}}", [("unconsumed_macro", "if", 1)]),
        ("{{input}}", [("unconsumed_macro", "char", 3)]),
    ],
)
def test_problems_have_a_code_a_name_and_a_place(text, expected):
    assert problems(text, input_text="to {{char}}") == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [("{{nobody}}", UnknownMacroError), ("{{user", MacroSyntaxError), ("{{/if}}", UnconsumedMacroError)],
)
def test_a_problem_is_an_error_for_those_who_are_strict(text, error):
    found = []
    engine = ParserMacros("1.19", on_problem=found.append)
    engine.expand(text, Environment())
    raised = found[0].error()
    assert type(raised) is error
    assert (raised.macro_name, raised.position) == (found[0].name, found[0].position)


def test_a_limit_is_reported():
    found = []
    engine = ParserMacros("1.19", limits=MacroLimits(steps=3), on_problem=found.append)
    assert engine.expand("{{user}} {{user}} {{user}}", Environment()) == "{{user}} {{user}} {{user}}"
    assert [problem.code for problem in found] == ["macro_limit"]
    assert type(found[0].error()) is MacroError


def test_there_are_never_more_problems_than_a_person_could_read():
    assert len(problems("{{nobody}}" * 1000)) == 100


@pytest.mark.parametrize(
    "text",
    [
        "{{roll 99999d6}}" * 200,
        "{{setvar::list::[]}}" + "{{addvar::list::x}}" * 5000,
        "{{.list = []}}" + "{{.list += x}}" * 5000,
    ],
)
def test_work_that_no_text_shows_is_counted_too(text: str) -> None:
    problems: list[MacroProblem] = []
    environment = Environment(random=lambda: 0.5)
    assert ParserMacros("1.19", on_problem=problems.append).expand(text, environment) == text
    assert [problem.code for problem in problems] == ["macro_limit"]
