"""What JavaScript finds under a name in a value that came out of JSON, inherited things included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tavernkit.text.js_json import is_index
from tavernkit.text.js_strings import split_halves
from tavernkit.values import Json

MISSING: Final = object()
"""There is nothing under the name; JSON's null is something."""


class Inherited:
    """A method, or the prototype: something that every value of its kind has. It counts as yes and is no text."""


_INHERITED = Inherited()
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


def property_of(value: Json, name: str) -> Json:
    """What `value[name]` gives: a value, MISSING, or an Inherited; the value is not null."""
    found: Json = value.get(name, MISSING) if isinstance(value, dict) else MISSING
    if found is not MISSING:
        return found
    if isinstance(value, list | str):
        items: Sequence[Json] = split_halves(value) if isinstance(value, str) else value
        if name == "length":
            return len(items)
        if is_index(name) and int(name) < len(items):
            return items[int(name)]
    return _INHERITED if name in _OF_OBJECTS else MISSING


def inherited_text(name: str) -> str:
    """What is printed for a name that every object has, or nothing for other names."""
    if name not in _OF_OBJECTS:
        return ""
    if name == "__proto__":
        return "[object Object]"
    return f"function {'Object' if name == 'constructor' else name}() {{ [native code] }}"
