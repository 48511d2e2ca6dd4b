"""Arithmetic, with JavaScript's numbers."""

from __future__ import annotations

import math
import re
from itertools import accumulate

from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import number_at, numbers_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.js_numbers import (
    js_floor,
    js_power,
    js_remainder,
    js_round,
    number_to_string,
    to_fixed,
    to_integer,
)
from tavernkit.text.js_strings import JS_WHITESPACE

NUMBERS = FunctionPack("numbers")

_MOST_DIGITS = 100
_NOT_NUMERIC = re.compile(f"[^0-9.{JS_WHITESPACE}]+")


@NUMBERS.function("round")
def round_number(call: CBSCall) -> str:
    return number_to_string(js_round(number_at(call, 0)))


@NUMBERS.function("floor")
def floor(call: CBSCall) -> str:
    return number_to_string(js_floor(number_at(call, 0)))


@NUMBERS.function("ceil")
def ceil(call: CBSCall) -> str:
    return number_to_string(-js_floor(-number_at(call, 0)))


@NUMBERS.function("abs")
def absolute(call: CBSCall) -> str:
    return number_to_string(abs(number_at(call, 0)))


@NUMBERS.function("remaind")
def remainder(call: CBSCall) -> str:
    return number_to_string(js_remainder(number_at(call, 0), number_at(call, 1)))


@NUMBERS.function("pow")
def power(call: CBSCall) -> str:
    return number_to_string(js_power(number_at(call, 0), number_at(call, 1)))


@NUMBERS.function("fixnum", "fixnumber")
def fixed_number(call: CBSCall) -> str:
    digits = to_integer(number_at(call, 1))
    if not 0 <= digits <= _MOST_DIGITS:
        raise LeftAsText
    return to_fixed(number_at(call, 0), int(digits))


@NUMBERS.function("min")
def smallest(call: CBSCall) -> str:
    return number_to_string(min(numbers_at(call), default=math.inf))


@NUMBERS.function("max")
def largest(call: CBSCall) -> str:
    return number_to_string(max(numbers_at(call), default=-math.inf))


@NUMBERS.function("sum")
def total(call: CBSCall) -> str:
    return number_to_string(_plain_sum(numbers_at(call)))


@NUMBERS.function("average")
def average(call: CBSCall) -> str:
    numbers = numbers_at(call)
    return number_to_string(_plain_sum(numbers) / len(numbers) if numbers else math.nan)


def _plain_sum(numbers: list[float]) -> float:
    """The sum from left to right; Python's own `sum` is more exact than JavaScript's addition."""
    return list(accumulate(numbers, initial=0.0))[-1]


@NUMBERS.function("tonumber")
def to_numeric(call: CBSCall) -> str:
    """The digits and points; white space stays as well, since JavaScript takes it for zero."""
    return _NOT_NUMERIC.sub("", call.need(0))
