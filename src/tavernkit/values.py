"""The base of every value object, and the types that name what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, Self, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec.structs import astuple, fields, replace

Json: TypeAlias = object
"""Anything `json.loads` can return. Its shape is unknown until somebody looks: readers narrow it once."""

JsonObject: TypeAlias = Mapping[str, Json]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable value. Nested mappings are read-only by convention, not by force."""

    def with_(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed."""
        return replace(self, **changes)


class CheckedValue(Value, frozen=True, kw_only=True):
    """A value that programs make by hand: a field of another type than it is declared with is refused at once."""

    def __post_init__(self) -> None:
        check_fields(self, type(self).__name__)


def check_fields(value: Value, name: str) -> None:
    """Raise TypeError unless every field of a value is of its type; the sentence names the field."""
    kind = type(value)
    types = (kind, *map(type, astuple(value)))
    lists = _FITTING.get(types)
    if lists is None:
        lists = _FITTING[types] = _checked_lists(value, name)
    for field, fitting in lists:
        items = getattr(value, field)
        if items and not fitting.issuperset(map(type, items)):
            kinds = _declared(kind)[field].items
            for place, item in enumerate(items):
                if not isinstance(item, kinds):
                    raise TypeError(f"{name}.{field}[{place}] must be {_words(kinds)}, not {_found(item)}.")


_Lists: TypeAlias = tuple[tuple[str, frozenset[type]], ...]
_FITTING: dict[tuple[type, ...], _Lists] = {}
"""Kinds of values with the types of their fields that have been found to fit: what fits once always does. Items of
lists are looked at each time; these are the fields that are lists, with the types of the items."""


def _checked_lists(value: Value, name: str) -> _Lists:
    declared = _declared(type(value))
    for field, (types, _) in declared.items():
        given = getattr(value, field)
        if types is not None and not isinstance(given, types):
            raise TypeError(f"{name}.{field} must be {_words(types)}, not {_found(given)}.")
    return tuple((field, frozenset(items)) for field, (_, items) in declared.items() if items)


class _Field(NamedTuple):
    """The types that a field may have, None for any; `items` are those of the items of a list, none for any."""

    types: tuple[type, ...] | None
    items: tuple[type, ...]


@cache
def _declared(kind: type[Value]) -> Mapping[str, _Field]:
    return {field.name: _Field(_types(field.type), _items(field.type)) for field in fields(kind)}


def _types(declared: Any) -> tuple[type, ...] | None:
    origin = get_origin(declared)
    if origin in (Union, UnionType):
        each = [_types(choice) for choice in get_args(declared)]
        return None if None in each else tuple(kind for types in each for kind in types or ())
    if origin in (tuple, frozenset):
        return (tuple, list) if origin is tuple else (frozenset, set)
    kind = origin or declared
    if declared is float:
        return (float, int)
    # A protocol says nothing that a type could, and what is declared as an object may be anything.
    if not isinstance(kind, type) or kind is object or getattr(kind, "_is_protocol", False):
        return None
    return (Mapping,) if issubclass(kind, Mapping) else (kind,)


def _items(declared: Any) -> tuple[type, ...]:
    parts = get_args(declared)
    if get_origin(declared) is tuple:
        return _types(parts[0]) or () if parts[1:] == (...,) else ()
    return next(filter(None, map(_items, parts)), ()) if get_origin(declared) in (Union, UnionType) else ()


_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    tuple: "a list",
    frozenset: "a set",
    Mapping: "a mapping",
    NoneType: "None",
}


def _words(types: tuple[type, ...]) -> str:
    kinds = [kind for kind in types if kind not in (list, set) and (kind is not int or float not in types)]
    return " or ".join(_WORDS.get(kind) or _with_article(kind.__name__) for kind in kinds)


def _found(value: object) -> str:
    return "None" if value is None else "text" if isinstance(value, str) else _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def as_json(value: Any) -> Json:
    """Values, and what is in them, as objects and lists: the same that reading them as JSON would give."""
    match value:
        case str() | int() | float() | None:
            return value
        case tuple() | list():
            return [as_json(item) for item in value]
        case msgspec.Struct():
            return as_json(msgspec.structs.asdict(value))
        case Mapping():
            return {key: as_json(item) for key, item in value.items()}
        case _:
            return value


_choices = cache(get_args)


def check_choice(argument: str, value: object, choices: object) -> None:
    """Raise ValueError unless the value of an argument is one of those that a Literal type names."""
    allowed = _choices(choices)
    if value not in allowed:
        raise ValueError(f"{argument} is {value!r}; it must be one of {', '.join(map(repr, allowed))}.")
