"""Equality, order, membership and truth, as LiquidJS and the JavaScript below it decide them."""

from __future__ import annotations

import math
from typing import Final

from tavernkit.artifacts.liquid.conversion import js_number, js_text
from tavernkit.artifacts.liquid.data import (
    UNDEFINED,
    Blank,
    Drop,
    Empty,
    Nil,
    is_array,
    is_nil,
    is_number,
    is_object,
    plain,
)
from tavernkit.artifacts.liquid.limits import Meter
from tavernkit.text.js_strings import js_trim, utf16_units

__all__ = ["contains", "equals", "is_falsy", "is_truthy", "less", "less_or_equal", "order", "same_key"]


def is_truthy(value: object) -> bool:
    """Everything but false and nothing is true: zero and empty texts, too."""
    value = plain(value)
    return not (value is False or is_nil(value))


def is_falsy(value: object) -> bool:
    """What JavaScript itself takes for false; lists, objects and the literals of the language never are."""
    if is_array(value) or is_object(value):
        return False
    return value is UNDEFINED or value != value or not value


def equals(left: object, right: object, meter: Meter) -> bool:
    """Equal without any conversion; lists by their members, objects only with themselves."""
    if isinstance(left, Nil | Empty):
        return _literal_equals(left, right)
    if isinstance(right, Nil | Empty):
        return _literal_equals(right, left)
    left, right = plain(left), plain(right)
    if is_array(left):
        if not is_array(right) or len(left) != len(right):
            return False
        return left is right or all(_members_equal(one, other, meter) for one, other in zip(left, right, strict=True))
    return _strictly_equal(left, right)


def _members_equal(left: object, right: object, meter: Meter) -> bool:
    meter.step()
    return equals(left, right, meter)


def _literal_equals(literal: Nil | Empty, other: object) -> bool:
    value = plain(other)
    if isinstance(literal, Nil):
        return is_nil(value)
    if isinstance(literal, Blank):
        if value is False or is_nil(value):
            return True
        if isinstance(other, str):
            return not js_trim(other)
    if isinstance(other, Empty):
        return False
    return (isinstance(value, str) or is_array(value) or is_object(value)) and len(value) == 0


def _strictly_equal(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left) and is_number(right):
        return left == right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return left is right


def less(left: object, right: object, meter: Meter) -> bool:
    return _ordered(left, right, meter) == -1


def less_or_equal(left: object, right: object, meter: Meter) -> bool:
    return _ordered(left, right, meter) in (-1, 0)


def _ordered(left: object, right: object, meter: Meter) -> int | None:
    """-1, 0 or 1; None for what has no order, as whatever becomes no number. Literals have none."""
    if type(left) is float and type(right) is float:
        return None if left != left or right != right else (left > right) - (left < right)
    if isinstance(left, Nil | Empty) or isinstance(right, Nil | Empty):
        return None
    one, other = _primitive(left, meter), _primitive(right, meter)
    if isinstance(one, str) and isinstance(other, str):
        return _sign(one, other)
    first, second = js_number(one, meter), js_number(other, meter)
    if math.isnan(first) or math.isnan(second):
        return None
    return (first > second) - (first < second)


def _primitive(value: object, meter: Meter) -> object:
    value = plain(value)
    return js_text(value, meter) if is_array(value) or is_object(value) else value


def _sign(one: str, other: str) -> int:
    """The order of two texts by their UTF-16 units."""
    if one == other:
        return 0
    if one.isascii() or other.isascii():
        return -1 if one < other else 1
    return -1 if tuple(utf16_units(one)) < tuple(utf16_units(other)) else 1


def contains(left: object, right: object, meter: Meter) -> bool:
    """A list has an equal member, or a text has the text inside; objects contain nothing."""
    left = plain(left)
    if is_array(left):
        return any(_members_equal(item, right, meter) for item in left)
    if isinstance(left, str):
        meter.made(len(left))
        return js_text(plain(right), meter) in left
    return False


def order(left: object, right: object, meter: Meter) -> int:
    """The order of sorted lists: what is nothing comes last, what cannot be compared stays where it was."""
    meter.step()
    if is_nil(left) or is_nil(right):
        return is_nil(left) - is_nil(right)
    return _ordered(left, right, meter) or 0


_NOT_A_NUMBER: Final = ("number", "NaN")


def same_key(value: object) -> tuple[str, object]:
    """A key under which JavaScript's `Map` and `Set` take two values for one."""
    if isinstance(value, bool):
        return ("boolean", value)
    if is_number(value):
        return _NOT_A_NUMBER if value != value else ("number", value)
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, Drop):
        return ("drop", id(value))
    return ("identity", id(value))
