"""Turning values into texts and numbers the way JavaScript does."""

from __future__ import annotations

import math

from tavernkit.artifacts.liquid.data import UNDEFINED, TextObject, is_array, is_nil, is_number, plain
from tavernkit.artifacts.liquid.limits import Meter
from tavernkit.text.js_numbers import number_to_string, to_number

__all__ = ["as_number", "index", "js_add", "js_number", "js_text", "number_or_zero", "sliced", "to_text"]

_OBJECT = "[object Object]"


def to_text(value: object, meter: Meter) -> str:
    """What output prints: nothing for nothing, the members of lists one after the other."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if is_nil(value):
        return ""
    if is_array(value):
        meter.made(len(value))
        text = "".join(to_text(item, meter) for item in value)
        meter.made(len(text))
        return text
    return _scalar_text(value)


def js_text(value: object, meter: Meter) -> str:
    """What `String(value)` gives: the members of lists with commas between."""
    if is_array(value):
        meter.made(len(value))
        text = ",".join("" if is_nil(item) else js_text(item, meter) for item in value)
        meter.made(len(text))
        return text
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if value is UNDEFINED:
        return "undefined"
    return _scalar_text(value)


def _scalar_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return number_to_string(value)
    if isinstance(value, TextObject):
        return value.text
    return _OBJECT


def as_number(number: float) -> float:
    """The double that JavaScript would have for this number."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def js_number(value: object, meter: Meter) -> float:
    """What `Number(value)` gives."""
    value = plain(value)
    if value is None:
        return 0.0
    if isinstance(value, bool):
        return float(value)
    if is_number(value):
        return as_number(value)
    if isinstance(value, str):
        return to_number(value)
    if is_array(value):
        return to_number(js_text(value, meter))
    return math.nan


def number_or_zero(value: object, meter: Meter) -> float:
    """The number that filters calculate with: zero for what is none."""
    number = js_number(value, meter)
    return 0.0 if math.isnan(number) else number


def index(value: object, meter: Meter) -> float:
    """A place for `slice`: whole, zero for what is no number; may be infinite."""
    number = number_or_zero(value, meter)
    return number if math.isinf(number) else float(math.trunc(number))


def sliced(length: int, start: float, stop: float) -> slice:
    """The slice that `slice(start, stop)` takes of something that long; negative places count from the end."""

    def place(number: float) -> int:
        return int(max(0.0, length + number)) if number < 0 else int(min(number, length))

    return slice(place(start), place(stop))


def js_add(left: object, right: object, meter: Meter) -> object:
    """What `left + right` gives: text when a side is neither a number nor as good as one."""
    left, right = plain(left), plain(right)
    if _counts(left) and _counts(right):
        return js_number(left, meter) + js_number(right, meter)
    return js_text(left, meter) + js_text(right, meter)


def _counts(value: object) -> bool:
    return isinstance(value, bool) or is_nil(value) or is_number(value)
