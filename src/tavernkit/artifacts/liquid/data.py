"""What a template's values are: JSON, what is missing, and the few objects that only templates know."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard, final

from tavernkit.text.js_numbers import number_to_string
from tavernkit.values import Json

__all__ = [
    "BLANK",
    "EMPTY",
    "NIL",
    "UNDEFINED",
    "Blank",
    "Drop",
    "Empty",
    "ForLoop",
    "Nil",
    "TableRowLoop",
    "TextObject",
    "Undefined",
    "is_array",
    "is_index",
    "is_nil",
    "is_number",
    "is_object",
    "object_keys",
    "plain",
]

_LARGEST_INDEX = 2**32 - 2


@final
class Undefined:
    """The type of the one value that stands for what is not there; null is there."""


UNDEFINED: Final = Undefined()


class TextObject(dict[str, Json]):
    """An object that prints as a text of its own, as a character prints as its name."""

    def __init__(self, fields: Mapping[str, Json], *, text: str) -> None:
        super().__init__(fields)
        self.text = text


class Drop(ABC):
    """An object of the language itself; `value` is what filters and output see of it."""

    @property
    @abstractmethod
    def value(self) -> object: ...

    def fields(self) -> Mapping[str, object]:
        """What JSON shows of it."""
        return {}

    def read(self, name: str) -> object:
        """A member; most have none."""
        return self.fields().get(name, UNDEFINED)


class Nil(Drop):
    """The literal `nil`, which is not the null of data: it equals what is missing, too."""

    @property
    def value(self) -> object:
        return None


class Empty(Drop):
    """The literal `empty`."""

    @property
    def value(self) -> object:
        return ""


class Blank(Empty):
    """The literal `blank`."""


NIL: Final = Nil()
EMPTY: Final = Empty()
BLANK: Final = Blank()


class ForLoop(Drop):
    """`forloop`: where a loop is."""

    def __init__(self, length: int, name: str) -> None:
        self.place = 0
        self._length = length
        self._name = name

    @property
    def value(self) -> object:
        return "{" + ",".join(f'"{name}":{_shown(value)}' for name, value in self.fields().items()) + "}"

    def fields(self) -> Mapping[str, object]:
        return {"i": self.place, "length": self._length, "name": self._name}

    def read(self, name: str) -> object:
        left = self._length - self.place
        methods = {
            "index": self.place + 1,
            "index0": self.place,
            "first": self.place == 0,
            "last": left == 1,
            "rindex": left,
            "rindex0": left - 1,
        }
        return methods[name] if name in methods else super().read(name)


class TableRowLoop(ForLoop):
    """`tablerowloop`: where a table is.

    `columns` is the number of what the template gave as `given`; it may be none at all, and then no row ever begins.
    """

    def __init__(self, length: int, columns: float, given: object, name: str) -> None:
        super().__init__(length, name)
        self._columns = columns
        self._given = given

    @property
    def column0(self) -> float:
        columns = abs(self._columns)
        return math.fmod(self.place, columns) if columns > 0 else math.nan

    @property
    def row(self) -> float:
        row = self.place / self._columns if self._columns else math.nan
        return math.trunc(row) + 1 if math.isfinite(row) else row

    def fields(self) -> Mapping[str, object]:
        return {**super().fields(), "cols": self._given}

    def read(self, name: str) -> object:
        methods = {
            "row": self.row,
            "col0": self.column0,
            "col": self.column0 + 1,
            "col_first": self.column0 == 0,
            "col_last": is_number(self._given) and self.column0 + 1 == self._given,
        }
        return methods[name] if name in methods else super().read(name)

    def cell(self) -> str:
        """The number that the cell's class carries."""
        return number_to_string(self.column0 + 1)


def _shown(value: object) -> str:
    """A number, text or truth as JSON; anything else is not worth showing."""
    if is_number(value) and math.isfinite(value):
        return number_to_string(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else "null"


def plain(value: object) -> object:
    """The value without the object of the language around it."""
    return value.value if isinstance(value, Drop) else value


def is_nil(value: object) -> bool:
    return value is None or value is UNDEFINED


def is_array(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def object_keys(value: Mapping[str, object]) -> list[str]:
    """The names in JavaScript's order: whole numbers first, counting up, then the others as they were written."""
    keys = [str(key) for key in value]
    numbers = [key for key in keys if is_index(key)]
    if not numbers:
        return keys
    return [*sorted(numbers, key=int), *(key for key in keys if not is_index(key))]


def is_index(key: str) -> bool:
    """Whether the name is a place in a list as JavaScript writes it."""
    return key.isascii() and key.isdigit() and str(int(key[:11])) == key and int(key) <= _LARGEST_INDEX
