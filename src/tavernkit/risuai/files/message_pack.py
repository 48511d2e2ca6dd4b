"""MessagePack as JavaScript's programs exchange it, with what JSON can hold on our side."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec.msgpack import Ext

from tavernkit.errors import ParseError, PresetParseError
from tavernkit.reading import MAX_JSON_DEPTH, ReportBuilder, kind_of
from tavernkit.text.js_numbers import to_number
from tavernkit.values import Json

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1
UNDEFINED = 0
"""The extension by which JavaScript's writers say that there is no value."""


def read_message_pack(data: bytes, report: ReportBuilder, *, what: str) -> dict[str, Json]:
    """Read an object; what JSON cannot hold is left out of objects and noted, and is null in a list."""
    try:
        value = unpack(data, what=what)
    except ParseError as error:
        raise PresetParseError(str(error)) from None
    if not isinstance(value, dict):
        raise PresetParseError(f"{what} should be an object, but it is {kind_of(value)}.")
    return _fields(value, report, what, "", 1)


def unpack(data: bytes | memoryview | msgspec.Raw, *, what: str) -> Any:
    """The value that the bytes hold. Half a surrogate pair, for which JavaScript's writers have bytes of their own, is
    read as such; raises ParseError for what is no MessagePack."""
    try:
        return msgspec.msgpack.decode(data)
    except UnicodeDecodeError:
        return _LooseReader(bytes(data), what).value(0)
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        raise ParseError(f"{what} cannot be read: {error}.") from None
    except RecursionError:
        raise ParseError(f"{what} is nested too deeply.") from None


class _LooseReader:
    """Reads texts that are not UTF-8, which the fast reader refuses; all that is neither text nor list nor object is
    left to that one."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    def value(self, depth: int) -> Any:
        if depth > MAX_JSON_DEPTH:
            raise ParseError(f"{self._what} is nested more than {MAX_JSON_DEPTH} levels deep.")
        code = self._take(1)[0]
        match code:
            case _ if 0x80 <= code < 0x90 or code in (0xDE, 0xDF):
                count = code & 15 if code < 0x90 else self._number(2 if code == 0xDE else 4)
                return {str(self.value(depth + 1)): self.value(depth + 1) for _ in range(count)}
            case _ if 0x90 <= code < 0xA0 or code in (0xDC, 0xDD):
                count = code & 15 if code < 0xA0 else self._number(2 if code == 0xDC else 4)
                return [self.value(depth + 1) for _ in range(count)]
            case _ if 0xA0 <= code < 0xC0 or code in _TEXTS:
                text = self._take(code & 31 if code < 0xC0 else self._number(_TEXTS[code]))
                try:
                    return text.decode("utf-8", "surrogatepass")
                except UnicodeDecodeError as error:
                    raise ParseError(f"{self._what} cannot be read: {error}.") from None
            case _:
                start = self._at - 1
                if code in _COUNTED:
                    self._take(self._number(_COUNTED[code]) + (1 if code > 0xC6 else 0))
                else:
                    self._take(_SIZES.get(code, 0))
                return unpack(self._data[start : self._at], what=self._what)

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ParseError(f"{self._what} cannot be read: it is cut off.")
        self._at += size
        return taken


_TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_COUNTED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4}
"""How many bytes say how long a text is, or bytes and extensions are."""
_SIZES = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
          0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}  # fmt: skip
"""How many bytes follow the code of a number or a short extension."""


def write_message_pack(value: Json) -> bytes:
    """Write a value; what MessagePack cannot hold becomes what it would be in JavaScript."""
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
