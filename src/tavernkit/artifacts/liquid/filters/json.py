"""Filters that show values as JSON, and `default`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from tavernkit.artifacts.liquid.comparing import is_truthy
from tavernkit.artifacts.liquid.conversion import as_number
from tavernkit.artifacts.liquid.data import (
    UNDEFINED,
    Drop,
    is_array,
    is_number,
    is_object,
    object_keys,
    plain,
)
from tavernkit.artifacts.liquid.limits import Meter
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import join_halves

__all__ = ["FILTERS"]

_MOST_SPACES = 10
_LONE_HALF = re.compile("[\ud800-\udfff]")


def _json(rendering: Rendering, value: object, space: object = UNDEFINED, *_: object) -> object:
    """The value as JSON; what is missing stays missing."""
    if value is UNDEFINED:
        return UNDEFINED
    return _written(value, _indent(space), "\n", rendering.meter)


def _indent(space: object) -> str:
    if isinstance(space, str):
        return space[:_MOST_SPACES]
    if is_number(space) and space > 0:
        return " " * int(min(space, _MOST_SPACES))
    return ""


def _written(value: object, indent: str, line: str, meter: Meter) -> str:
    meter.made(1)
    if isinstance(value, Drop):
        value = value.fields()
    if isinstance(value, str):
        meter.made(len(value))
        text = json.dumps(join_halves(value), ensure_ascii=False)
        return _LONE_HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return number_to_string(value) if math.isfinite(as_number(value)) else "null"
    inner = line + indent
    if is_array(value):
        return _enclosed("[]", [_written(item, indent, inner, meter) for item in value], line, indent, meter)
    if is_object(value):
        colon = ": " if indent else ":"
        members = [
            f"{_written(key, indent, inner, meter)}{colon}{_written(value[key], indent, inner, meter)}"
            for key in object_keys(value)
            if value[key] is not UNDEFINED
        ]
        return _enclosed("{}", members, line, indent, meter)
    return "null"


def _enclosed(brackets: str, members: list[str], line: str, indent: str, meter: Meter) -> str:
    meter.made(sum(map(len, members)))
    if not members:
        return brackets
    if not indent:
        return f"{brackets[0]}{','.join(members)}{brackets[1]}"
    inner = line + indent
    return f"{brackets[0]}{inner}{f',{inner}'.join(members)}{line}{brackets[1]}"


def _default(rendering: Rendering, value: object, other: object = UNDEFINED, *options: object) -> object:
    """The other value for nothing, false, and texts and lists that are empty; an empty object is kept."""
    del rendering
    value = plain(value)
    if isinstance(value, str) or is_array(value):
        return value if len(value) else other
    if value is False and _allows_false(options):
        return False
    return value if is_truthy(value) else other


def _allows_false(options: tuple[object, ...]) -> bool:
    allowed: object = False
    for option in options:
        if not is_array(option) or len(option) < 1:
            raise CannotRenderError("the filter default knows only the option allow_false, as in allow_false: true")
        if option[0] == "allow_false":
            allowed = option[1]
    return is_truthy(allowed) and plain(allowed) not in (0, "")


def _raw(rendering: Rendering, value: object, *_: object) -> object:
    del rendering
    return value


FILTERS: dict[str, Callable[..., object]] = {
    "default": _default,
    "inspect": _json,
    "json": _json,
    "jsonify": _json,
    "raw": _raw,
}
