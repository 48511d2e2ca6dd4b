"""Values that came out of JSON, as JavaScript turns them into texts, numbers and yes or no."""

from __future__ import annotations

import math

from tavernkit.text import js_numbers
from tavernkit.values import Json


def to_text(value: Json) -> str:
    """What `String(value)` gives."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return js_numbers.number_to_string(value)
        case list() | tuple():
            return join(value, ",")
        case _:
            return "[object Object]"


def join(items: list[Json] | tuple[Json, ...], between: str) -> str:
    """What `items.join(between)` gives; null is written as nothing."""
    return between.join("" if item is None else to_text(item) for item in items)


def to_number(value: Json) -> float:
    """What `Number(value)` gives."""
    match value:
        case None:
            return 0.0
        case int() | float():
            try:
                return float(value)
            except OverflowError:
                return math.inf if value > 0 else -math.inf
        case _:
            return js_numbers.to_number(to_text(value))


def is_truthy(value: Json) -> bool:
    """Whether JavaScript takes the value for yes; unlike in Python, an empty list is one."""
    if isinstance(value, list | tuple | dict):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))
