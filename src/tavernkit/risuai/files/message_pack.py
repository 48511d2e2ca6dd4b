"""MessagePack as JavaScript's programs exchange it, with what JSON can hold on our side."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec.msgpack import Ext

from tavernkit.errors import PresetParseError
from tavernkit.reading import MAX_JSON_DEPTH, ReportBuilder, kind_of
from tavernkit.text.js_numbers import to_number
from tavernkit.values import Json, JsonObject

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1
UNDEFINED = 0
"""The extension by which JavaScript's writers say that there is no value."""


def read_message_pack(data: bytes, report: ReportBuilder, *, what: str) -> dict[str, Json]:
    """Read an object; what JSON cannot hold is left out of objects and noted, and is null in a list."""
    try:
        value = msgspec.msgpack.decode(data)
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        raise PresetParseError(f"{what} cannot be read: {error}.") from None
    except RecursionError:
        raise PresetParseError(f"{what} is nested too deeply.") from None
    if not isinstance(value, dict):
        raise PresetParseError(f"{what} should be an object, but it is {kind_of(value)}.")
    return _fields(value, report, what, "", 1)


def write_message_pack(value: JsonObject) -> bytes:
    """Write an object; what MessagePack cannot hold becomes what it would be in JavaScript."""
    try:
        return msgspec.msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return msgspec.msgpack.encode(_expressible(value))


def _expressible(value: Json) -> Json:
    """Half surrogate pairs as replacement characters, and whole numbers of more than 64 bits as rounded ones."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {_expressible(key): _expressible(item) for key, item in value.items()}
        case list():
            return [_expressible(item) for item in value]
        case int() if not MIN_INTEGER <= value <= MAX_INTEGER:
            return to_number(str(value))
        case _:
            return value


def _fields(source: dict[Any, Any], report: ReportBuilder, what: str, path: str, depth: int) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    for key, item in source.items():
        where = f"{path}.{key}" if path else str(key)
        if _is_expressible(item):
            fields[str(key)] = _value(item, report, what, where, depth)
        elif not (isinstance(item, Ext) and item.code == UNDEFINED):
            report.broken(where[:200], "a value that JSON cannot hold")
    return fields


def _value(value: Any, report: ReportBuilder, what: str, path: str, depth: int) -> Json:
    if depth >= MAX_JSON_DEPTH:
        raise PresetParseError(f"{what} is nested more than {MAX_JSON_DEPTH} levels deep.")
    if isinstance(value, dict):
        return _fields(value, report, what, path, depth + 1)
    if isinstance(value, list):
        return [_value(item, report, what, path, depth + 1) if _is_expressible(item) else None for item in value]
    return value


def _is_expressible(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int | list | dict)
