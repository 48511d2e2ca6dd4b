"""Properties of values that came out of JSON, as JavaScript finds and changes them; None is null and undefined both."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.risuai.triggers.run import ThrownError
from tavernkit.text.js_json import in_property_order, is_index
from tavernkit.text.js_strings import split_halves
from tavernkit.values import Json

LONGEST_ARRAY = 1_000_000
_LENGTH = "length"


def _holder(value: Json) -> dict[str, Json] | Sequence[Json]:
    """What has the properties of the value: the object, or the places of an array or text; a number has none."""
    match value:
        case None:
            raise ThrownError("Null has no properties.")
        case dict() | list():
            return value
        case str():
            return split_halves(value)
        case _:
            return {}


def get(value: Json, name: str) -> Json:
    """What `value[name]` gives."""
    holder = _holder(value)
    if isinstance(holder, dict):
        return holder.get(name)
    if name == _LENGTH:
        return len(holder)
    return holder[int(name)] if _is_place(holder, name) else None


def put(value: Json, name: str, item: Json) -> Json:
    """The value after `value[name] = item`; a list grows to the place, with nulls between."""
    if isinstance(value, dict):
        return in_property_order({**value, name: item})
    if not isinstance(value, list) or name == _LENGTH:
        raise ThrownError(f"{name!r} cannot be set.")
    if not is_index(name):
        return value  # a property of the array itself, which JSON does not write
    place = int(name)
    if place >= LONGEST_ARRAY:
        raise ThrownError(f"An array has at most {LONGEST_ARRAY:,} items.")
    grown = [*value, *[None] * (place + 1 - len(value))]
    grown[place] = item
    return grown


def remove(value: Json, name: str) -> Json:
    """The value after `delete value[name]`; a list keeps its length."""
    match value:
        case dict():
            return {key: item for key, item in value.items() if key != name}
        case list() if name != _LENGTH:
            return put(value, name, None) if has(value, name) else value
        case bool() | int() | float():
            return value
        case str() if not has(value, name):
            return value
        case _:
            raise ThrownError(f"{name!r} cannot be deleted.")


def has(value: Json, name: str) -> bool:
    """What `Object.hasOwn(value, name)` gives."""
    holder = _holder(value)
    return name in holder if isinstance(holder, dict) else name == _LENGTH or _is_place(holder, name)


def names(value: Json) -> list[str]:
    """What `Object.keys(value)` gives."""
    holder = _holder(value)
    return list(holder) if isinstance(holder, dict) else [str(place) for place in range(len(holder))]


def values(value: Json) -> list[Json]:
    """What `Object.values(value)` gives."""
    holder = _holder(value)
    return list(holder.values() if isinstance(holder, dict) else holder)


def _is_place(items: Sequence[Json], name: str) -> bool:
    return is_index(name) and int(name) < len(items)
