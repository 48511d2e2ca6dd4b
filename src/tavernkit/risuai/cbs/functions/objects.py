"""Making objects and reaching into them, as JavaScript does: inherited things included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import MOST_ITEMS, UNDEFINED, answer, text_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.js_json import from_json, in_property_order, is_index, to_json
from tavernkit.text.js_numbers import to_number
from tavernkit.text.js_strings import split_halves
from tavernkit.text.js_values import is_truthy, to_text
from tavernkit.values import Json

OBJECTS = FunctionPack("objects")

_NOTHING = "null"
_MISSING: Final = object()
"""There is nothing under the name; JSON's null is something."""


class _Inherited:
    """A method, or the prototype: something that every value of its kind has. It counts as yes and is no text."""


_INHERITED = _Inherited()
_OF_OBJECTS = frozenset(
    (
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "__proto__",
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    )
)


def _property_of(value: Json, name: str) -> Json:
    """What `value[name]` gives: a value, _MISSING, or an _Inherited; the value is not null."""
    found: Json = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    if found is not _MISSING:
        return found
    if isinstance(value, list | str):
        items: Sequence[Json] = split_halves(value) if isinstance(value, str) else value
        if name == "length":
            return len(items)
        if is_index(name) and int(name) < len(items):
            return items[int(name)]
    return _INHERITED if name in _OF_OBJECTS else _MISSING


def inherited_text(name: str) -> str:
    """What is printed for a name that every object has, or nothing for other names."""
    if name not in _OF_OBJECTS:
        return ""
    if name == "__proto__":
        return "[object Object]"
    return f"function {'Object' if name == 'constructor' else name}() {{ [native code] }}"


def _object(text: str | None) -> Json:
    """What the text holds as JSON, whatever that is, or an empty object."""
    if text is None:
        return {}
    try:
        value = from_json(text)
    except ValueError:
        return {}
    if value is None:  # nothing can be looked up in null
        raise LeftAsText
    return value


@OBJECTS.function("dictelement", "objectelement")
def dict_element(call: CBSCall) -> str:
    found = _property_of(_object(call.get(0)), text_at(call, 1))
    if isinstance(found, _Inherited):
        return UNDEFINED
    return _NOTHING if found is None or found is _MISSING else answer(found)


@OBJECTS.function("element", "ele")
def element(call: CBSCall) -> str:
    current: Json = call.need(0)
    for name in call.arguments[1:]:
        try:
            holder = from_json(to_text(current))
        except ValueError:
            return _NOTHING
        if not isinstance(holder, dict | list):
            return _NOTHING
        current = _property_of(holder, name)
        if current is _MISSING or not (isinstance(current, _Inherited) or is_truthy(current)):
            return _NOTHING
    return UNDEFINED if isinstance(current, _Inherited) else answer(current)


@OBJECTS.function("makedict", "dict", "d", "makeobject", "object", "o")
def make_dict(call: CBSCall) -> str:
    pairs = (argument.partition("=") for argument in call.arguments if "=" in argument)
    # A text given to `__proto__` is not kept.
    fields: dict[str, Json] = {name: value for name, _, value in pairs if name != "__proto__"}
    return to_json(in_property_order(fields))


@OBJECTS.function("objectassert", "dictassert")
def object_assert(call: CBSCall) -> str:
    holder, name, value = _object(call.get(0)), text_at(call, 1), call.get(2)
    found = _property_of(holder, name)
    if isinstance(found, _Inherited) or (found is not _MISSING and is_truthy(found)):
        return to_json(holder)
    match holder:
        case dict():
            return to_json(_with_field(holder, name, value))
        case list():
            return to_json(_with_item(holder, name, value))
        case _:  # nothing can be put into a text or number
            raise LeftAsText


def _with_field(fields: dict[str, Json], name: str, value: str | None) -> dict[str, Json]:
    if value is None:  # JSON does not write what is undefined
        return {key: kept for key, kept in fields.items() if key != name}
    return in_property_order({**fields, name: value})


def _with_item(items: list[Json], name: str, value: str | None) -> list[Json]:
    if name == "length":
        length = to_number(UNDEFINED if value is None else value)
        if not (length.is_integer() and 0 <= length <= MOST_ITEMS):
            raise LeftAsText
        return [None] * int(length)  # only an empty array's length counts as no
    if not is_index(name):
        return items
    index = int(name)
    if index >= MOST_ITEMS:
        raise LeftAsText
    longer = [*items, *([None] * (index + 1 - len(items)))]
    longer[index] = value
    return longer
