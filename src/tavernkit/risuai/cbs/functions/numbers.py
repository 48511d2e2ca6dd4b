"""Arithmetic, with JavaScript's numbers."""

from __future__ import annotations

import math
import re
from functools import reduce
from operator import add

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

_MOST_DIGITS = 100
_NOT_NUMERIC = re.compile(f"[^0-9.{JS_WHITESPACE}]+")

NUMBERS = FunctionPack(
    "numbers",
    {
        "round": lambda call: number_to_string(js_round(number_at(call, 0))),
        "floor": lambda call: number_to_string(js_floor(number_at(call, 0))),
        "ceil": lambda call: number_to_string(-js_floor(-number_at(call, 0))),
        "abs": lambda call: number_to_string(abs(number_at(call, 0))),
        "remaind": lambda call: number_to_string(js_remainder(number_at(call, 0), number_at(call, 1))),
        "pow": lambda call: number_to_string(js_power(number_at(call, 0), number_at(call, 1))),
        "min": lambda call: number_to_string(min(numbers_at(call), default=math.inf)),
        "max": lambda call: number_to_string(max(numbers_at(call), default=-math.inf)),
        "sum": lambda call: number_to_string(_plain_sum(numbers_at(call))),
        # White space stays beside digits and points, since JavaScript takes it for zero.
        "tonumber": lambda call: _NOT_NUMERIC.sub("", call.need(0)),
    },
)


@NUMBERS.function("fixnum", "fixnumber")
def fixed_number(call: CBSCall) -> str:
    digits = to_integer(number_at(call, 1))
    if not 0 <= digits <= _MOST_DIGITS:
        raise LeftAsText
    return to_fixed(number_at(call, 0), int(digits))


@NUMBERS.function("average")
def average(call: CBSCall) -> str:
    numbers = numbers_at(call)
    return number_to_string(_plain_sum(numbers) / len(numbers) if numbers else math.nan)


def _plain_sum(numbers: list[float]) -> float:
    """The sum from left to right; Python's own `sum` is more exact than JavaScript's addition."""
    return reduce(add, numbers, 0.0)
