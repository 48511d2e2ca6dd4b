"""The calculator: its order of operations, and what it makes of text that is no sum."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.cbs.scenes import scene

from tavernkit.risuai.cbs import LeftAsText, calculate, expand


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("2^3^2", 64),
        ("-2^2", 4),
        ("8/4/2", 1),
        ("-7%3", -1),
        ("2*-2", -4),
        ("1 - -1", 2),
        ("1+2>4", 0),
        ("1<2<3", 1),
        ("3>=3", 1),
        ("3!=3", 0),
        ("5||0", 5),
        ("5&&7", 7),
        ("0&0|1", 1),
        ("1+!0", 2),
        ("!5", 0),
        ("4.7/0", math.inf),
        ("-1/0", -math.inf),
        ("0^-1", math.inf),
        ("10^400", math.inf),
    ],
)
def test_operators(expression: str, number: float) -> None:
    assert calculate(expression, scene()) == number


@pytest.mark.parametrize("expression", ["0/0", "5%0", "-1^3.8", "1^(1/0)", "true+1"])
def test_what_is_not_a_number(expression: str) -> None:
    assert math.isnan(calculate(expression, scene()))


@pytest.mark.parametrize(
    ("expression", "number"),
    [("", 0), ("*2", 0), ("1+", 1), ("null", 0), ('"a"', 0), ("((3)", 3), ("1)+2", 3), ("1,5+1", 2), ("1 2 3", 123)],
)
def test_what_is_missing_counts_as_zero_and_what_is_too_much_is_passed_over(expression: str, number: float) -> None:
    assert calculate(expression, scene()) == number


def test_a_brackets_result_takes_its_place_as_text() -> None:
    assert calculate("3(4)", scene()) == 34
    assert calculate("(1/10000000)+1", scene()) == -5  # 1e-7+1 is read as 1e, -, 7, +, 1


def test_a_zero_that_is_not_spelt_0_vanishes_and_leaves_its_operator_alone() -> None:
    assert math.isnan(calculate("00+5", scene()))
    assert calculate("00|5", scene()) == 5


def test_variables_of_the_chat_and_of_all_chats() -> None:
    here = scene({"fog": "4", "name": "Brine", "half": "2.5px"}, globals_={"ratio": "0.25"})
    assert calculate("$fog+@ratio", here) == 4.25
    assert calculate("$name+$none+@none", here) == 0
    assert calculate("$half*2", here) == 5


def test_where_there_is_no_number_at_all_the_macro_stays_in_the_text() -> None:
    with pytest.raises(LeftAsText):
        calculate("00&1", scene())
    assert expand("{{? 00&1}}", scene()) == "{{? 00&1}}"


@given(st.text(alphabet="0123456789.()+-*/%^<>=!&|$@ en\u2264", max_size=40))
def test_every_expression_has_an_answer(expression: str) -> None:
    with suppress(LeftAsText):
        assert isinstance(calculate(expression, scene({"e": "3"})), float)
