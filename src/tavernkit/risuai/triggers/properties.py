"""Properties of values that came out of JSON, as JavaScript finds and changes them; None is null and undefined both."""

from __future__ import annotations

from tavernkit.risuai.triggers.run import ThrownError
from tavernkit.text.js_json import in_property_order, is_index
from tavernkit.text.js_strings import split_halves, utf16_length
from tavernkit.values import Json

LONGEST_ARRAY = 1_000_000
_LENGTH = "length"


def get(value: Json, name: str) -> Json:
    """What `value[name]` gives."""
    match value:
        case None:
            raise ThrownError("Null has no properties.")
        case dict():
            return value.get(name)
        case list():
            return len(value) if name == _LENGTH else _item(value, name)
        case str():
            return utf16_length(value) if name == _LENGTH else _item(split_halves(value), name)
        case _:
            return None


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
    match value:
        case None:
            raise ThrownError("Null has no properties.")
        case dict():
            return name in value
        case list():
            return name == _LENGTH or (is_index(name) and int(name) < len(value))
        case str():
            return name == _LENGTH or (is_index(name) and int(name) < utf16_length(value))
        case _:
            return False


def names(value: Json) -> list[str]:
    """What `Object.keys(value)` gives."""
    match value:
        case None:
            raise ThrownError("Null has no properties.")
        case dict():
            return list(value)
        case list():
            return [str(place) for place in range(len(value))]
        case str():
            return [str(place) for place in range(utf16_length(value))]
        case _:
            return []


def values(value: Json) -> list[Json]:
    """What `Object.values(value)` gives."""
    match value:
        case None:
            raise ThrownError("Null has no properties.")
        case dict():
            return list(value.values())
        case list():
            return value
        case str():
            return list(split_halves(value))
        case _:
            return []


def _item(items: list[Json] | str, name: str) -> Json:
    return items[int(name)] if is_index(name) and int(name) < len(items) else None
