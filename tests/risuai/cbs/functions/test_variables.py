"""Variables of the parse, of the chat, and of all chats."""

import pytest

from tavernkit.macros.variables import Variables
from tavernkit.risuai.default_variables import get_chat_variable, parse_key_values
from tavernkit.risuai.settings import RisuSettings

from .scenes import a_scene, says


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb=2", [("a", "1"), ("b", "2")]),
        ("a=b=c", [("a", "b")]),
        ("=x\nk=\n\nplain\nz=1", [("z", "1")]),
        (" a = 1 \r", [(" a ", " 1 \r")]),
        ("", []),
    ],
)
def test_defaults_are_lines_of_key_and_value(text: str, pairs: list[tuple[str, str]]) -> None:
    assert parse_key_values(text) == pairs


def test_a_variable_is_looked_for_in_the_chat_then_the_character_then_the_template() -> None:
    scene = a_scene(variables={"lives": "9"}, settings=RisuSettings(template_default_variables="mood=t\nrank=captain"))
    assert says("{{getvar::lives}} {{getvar::mood}} {{getvar::rank}} {{getvar::x}}", scene) == "9 grey captain null"


def test_a_number_that_somebody_else_stored_reads_as_text() -> None:
    assert says("{{getvar::n}}{{getvar::b}}", a_scene(variables={"n": 2.0, "b": True})) == "2true"


@pytest.mark.parametrize(
    ("macro", "after"),
    [
        ("{{setvar::door::open}}", {"fog": "4", "door": "open"}),
        ("{{setvar::fog}}", {}),
        ("{{setvar}}", {"fog": "4"}),
        ("{{addvar::fog::3}}", {"fog": "7"}),
        ("{{addvar::lives::-0.5}}", {"fog": "4", "lives": "2.5"}),
        ("{{addvar}}", {"fog": "4", "undefined": "NaN"}),
        ("{{setdefaultvar::fog::9}}{{setdefaultvar::new::9}}", {"fog": "4"}),
    ],
)
def test_writing_variables(macro: str, after: dict[str, str]) -> None:
    scene = a_scene(variables={"fog": "4"})
    assert says(macro, scene, runs_variables=True) == ""
    assert isinstance(scene.variables, Variables)
    assert scene.variables.snapshot() == after


def test_a_default_takes_the_place_of_an_empty_value_only() -> None:
    scene = a_scene(variables={"fog": ""})
    assert says("{{setdefaultvar::fog::9}}{{getvar::fog}}", scene, runs_variables=True) == "9"


def test_variables_are_written_only_where_the_caller_says_so() -> None:
    assert says("{{setvar::a::1}}") == "{{setvar::a::1}}"
    assert says("[{{addvar::a::1}}]", removes_variables=True, runs_variables=True) == "[]"
    assert says("{{setvar::a::1}}", a_scene(character=None), runs_variables=True) == "{{setvar::a::1}}"


def test_other_parts_read_and_write_the_same_variables() -> None:
    scene = a_scene()
    scene.variables.set("mood", "bright")
    assert get_chat_variable(scene, "mood") == says("{{getvar::mood}}", scene) == "bright"


def test_global_variables() -> None:
    scene = a_scene()
    scene.variables.set("toggle_lamp", "1", "global")
    assert says("{{getglobalvar::toggle_lamp}} {{getglobalvar::lamp}} {{getglobalvar}}", scene) == "1 null null"
    assert says("{{setglobalvar::toggle_lamp::0}}", scene) == "{{setglobalvar::toggle_lamp::0}}"
    assert scene.variables.get("toggle_lamp", "global") == "1"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{settempvar::k::a}}{{settempvar::k::b}}{{tempvar::k}}", "b"),
        ("{{settempvar::k::a}}{{settempvar::k}}[{{gettempvar::k}}]", "[]"),
        ("{{settempvar::undefined::x}}{{tempvar}}", "x"),
        ("{{tempvar::toString}}", "function toString() { [native code] }"),
        ("a{{return::out}}b", "out"),
        ("a{{return}}b", "null"),
        ("{{settempvar::__return__::x}}{{settempvar::__force_return__::1}}gone", "x"),
        ("{{settempvar::__force_return__::}}here", "here"),
    ],
)
def test_variables_of_the_parse(text: str, result: str) -> None:
    assert says(text) == result


def test_the_calculator_reads_variables() -> None:
    assert says("{{calc::$fog*2}}{{calc}}", a_scene(variables={"fog": "4"})) == "8{{calc}}"
