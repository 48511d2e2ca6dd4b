"""Filters that calculate, with doubles as JavaScript has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

from tavernkit.artifacts.liquid.conversion import js_number, number_or_zero
from tavernkit.artifacts.liquid.data import UNDEFINED
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_numbers import js_remainder

__all__ = ["FILTERS"]

_MOST_PLACES = 400
_EXACT = Context(prec=1_500)


def _one(calculate: Callable[[float], float]) -> Callable[..., float]:
    def filtered(rendering: Rendering, value: object, *_: object) -> float:
        number = number_or_zero(value, rendering.meter)
        return number if math.isinf(number) else calculate(number)

    return filtered


def _two(calculate: Callable[[float, float], float]) -> Callable[..., float]:
    """A filter of two numbers; without the second there is no result."""

    def filtered(rendering: Rendering, value: object, *others: object) -> float:
        if not others:
            return math.nan
        meter = rendering.meter
        return calculate(number_or_zero(value, meter), number_or_zero(others[0], meter))

    return filtered


def _divide(dividend: float, divisor: float) -> float:
    if divisor != 0:
        return dividend / divisor
    if dividend == 0:
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def _modulo(dividend: float, divisor: float) -> float:
    """The rest with the sign of the divisor, calculated in three steps, each of which rounds."""
    return js_remainder(js_remainder(dividend, divisor) + divisor, divisor)


def _divided_by(rendering: Rendering, value: object, *others: object) -> float:
    """Never whole, unless the third argument says so."""
    result: float = _two(_divide)(rendering, value, *others)
    whole = len(others) > 1 and number_or_zero(others[1], rendering.meter) != 0
    return float(math.floor(result)) if whole and math.isfinite(result) else result


def _at_least(rendering: Rendering, value: object, *others: object) -> float:
    return max(number_or_zero(number, rendering.meter) for number in (value, *others))


def _at_most(rendering: Rendering, value: object, *others: object) -> float:
    return min(number_or_zero(number, rendering.meter) for number in (value, *others))


def _round(rendering: Rendering, value: object, places: object = UNDEFINED, *_: object) -> float:
    """Half goes away from zero, by the digits that the number shows; places that are not whole change nothing."""
    number = number_or_zero(value, rendering.meter)
    digits = 0.0 if places is UNDEFINED else number_or_zero(places, rendering.meter)
    if not math.isfinite(number) or digits != digits // 1 or abs(digits) > _MOST_PLACES:
        return number
    try:
        return float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP, _EXACT))
    except InvalidOperation:
        return number


def _to_integer(rendering: Rendering, value: object, *_: object) -> float:
    """A number, whole or not: LiquidJS's name promises more."""
    return js_number(value, rendering.meter)


FILTERS: dict[str, Callable[..., object]] = {
    "abs": _one(abs),
    "at_least": _at_least,
    "at_most": _at_most,
    "ceil": _one(lambda number: float(math.ceil(number))),
    "divided_by": _divided_by,
    "floor": _one(lambda number: float(math.floor(number))),
    "minus": _two(lambda left, right: left - right),
    "modulo": _two(_modulo),
    "plus": _two(lambda left, right: left + right),
    "round": _round,
    "times": _two(lambda left, right: left * right),
    "to_integer": _to_integer,
}
