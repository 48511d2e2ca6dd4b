"""Values inside a database that is read piece by piece: of what is not asked for, nothing is built."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol, TypeAlias, TypeVar

import msgspec

from tavernkit.chats.dates import iso_date
from tavernkit.errors import ParseError
from tavernkit.reading import MAX_JSON_DEPTH, parse_json
from tavernkit.risuai.files.message_pack import UNDEFINED, unpack
from tavernkit.values import Json

MAX_PART_BYTES = 256 * 1024 * 1024
MAX_PART_VALUES = 20_000_000
MAX_BINARY = 1024 * 1024
PACKED_UNDEFINED = b"\xd4\0\0"
LARGEST_EXACT = 2**53
LARGEST_BITS = 1024
"""Beyond the one, numbers of JavaScript are rounded; beyond the other, they are none."""

Encoding: TypeAlias = Literal["msgpack", "json"]
_T = TypeVar("_T")


class DatabaseNode(Protocol):
    """One value of a database."""

    def fields(self) -> Mapping[str, DatabaseNode] | None:
        """The fields of an object in their order; None for what is no object."""

    def items(self) -> list[DatabaseNode] | None:
        """The items of a list; None for what is no list."""

    def value(self) -> Json:
        """The value as JSON has it. Raises ParseError."""

    def encoded(self) -> memoryview:
        """The bytes that the value is read from, to look for texts in; none for a value that has been read."""


class PackedNode:
    """A value that lies in bytes, read when it is asked for."""

    def __init__(self, data: memoryview | msgspec.Raw, encoding: Encoding, what: str) -> None:
        self._data = data
        self._encoding = encoding
        self._what = what

    def fields(self) -> Mapping[str, DatabaseNode] | None:
        if not self._is_object():
            return None
        try:
            parts = self._split(dict[str, msgspec.Raw])
        except (msgspec.DecodeError, ValueError):
            return ReadNode(self.value()).fields()
        return {
            key: PackedNode(part, self._encoding, self._what)
            for key, part in parts.items()
            if memoryview(part) != PACKED_UNDEFINED
        }

    def items(self) -> list[DatabaseNode] | None:
        if not self._is_list():
            return None
        try:
            parts = self._split(list[msgspec.Raw])
        except (msgspec.DecodeError, ValueError):
            return ReadNode(self.value()).items()
        return [PackedNode(part, self._encoding, self._what) for part in parts]

    def value(self) -> Json:
        data = self.encoded()
        if len(data) > MAX_PART_BYTES:
            raise ParseError(f"{self._what} has a part of {len(data):,} bytes; at most {MAX_PART_BYTES:,} are read.")
        if self._encoding == "msgpack":
            return _as_json(unpack(data, what=self._what), self._what, 0)
        found = parse_json(bytes(data), what=self._what, max_bytes=MAX_PART_BYTES, max_values=MAX_PART_VALUES)
        return _as_json(found, self._what, 0)

    def encoded(self) -> memoryview:
        return memoryview(self._data)

    def _split(self, kind: type[_T]) -> _T:
        try:
            decode = msgspec.msgpack.decode if self._encoding == "msgpack" else msgspec.json.decode
            return decode(self._data, type=kind)
        except RecursionError:
            raise ParseError(f"{self._what} is nested too deeply.") from None

    def _is_object(self) -> bool:
        first = self._first()
        return first == b"{"[0] if self._encoding == "json" else 0x80 <= first < 0x90 or first in (0xDE, 0xDF)

    def _is_list(self) -> bool:
        first = self._first()
        return first == b"["[0] if self._encoding == "json" else 0x90 <= first < 0xA0 or first in (0xDC, 0xDD)

    def _first(self) -> int:
        data = self.encoded()
        return data[0] if len(data) else 0


class ReadNode:
    """A value that has been read already."""

    def __init__(self, value: Json) -> None:
        self._value = value

    def fields(self) -> Mapping[str, DatabaseNode] | None:
        if not isinstance(self._value, dict):
            return None
        return {key: ReadNode(item) for key, item in self._value.items()}

    def items(self) -> list[DatabaseNode] | None:
        return [ReadNode(item) for item in self._value] if isinstance(self._value, list) else None

    def value(self) -> Json:
        return self._value

    def encoded(self) -> memoryview:
        return memoryview(b"")


def _as_json(value: object, what: str, depth: int) -> Json:
    """What JavaScript would write as JSON, which is what RisuAI itself makes of its database: numbers without a
    fraction are whole, and what is no value is left out of objects and null in lists."""
    if depth > MAX_JSON_DEPTH:
        raise ParseError(f"{what} is nested more than {MAX_JSON_DEPTH} levels deep.")
    match value:
        case str() | bool() | None:
            return value
        case int():
            if -LARGEST_EXACT <= value <= LARGEST_EXACT:
                return value
            return float(value) if value.bit_length() < LARGEST_BITS else None
        case float():
            if not math.isfinite(value):
                return None
            return int(value) if value.is_integer() and abs(value) <= LARGEST_EXACT else value
        case dict():
            return {str(key): _as_json(item, what, depth + 1) for key, item in value.items() if not _is_undefined(item)}
        case list():
            return [_as_json(item, what, depth + 1) for item in value]
        case datetime():
            return iso_date(value)
        case bytes() if len(value) <= MAX_BINARY:
            return {str(place): code for place, code in enumerate(value)}
        case _:
            return None


def _is_undefined(value: object) -> bool:
    return isinstance(value, msgspec.msgpack.Ext) and value.code == UNDEFINED
