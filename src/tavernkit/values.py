"""The base of every value object, and the types that name what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

Json: TypeAlias = object
"""Anything `json.loads` can return. Its shape is unknown until somebody looks: readers narrow it once."""

JsonObject: TypeAlias = Mapping[str, Json]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable value. Nested mappings are read-only by convention, not by force."""

    def with_(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed."""
        return replace(self, **changes)


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


def check_choice(argument: str, value: object, choices: object) -> None:
    """Raise ValueError unless the value of an argument is one of those that a Literal type names."""
    allowed = get_args(choices)
    if value not in allowed:
        raise ValueError(f"{argument} is {value!r}; it must be one of {', '.join(map(repr, allowed))}.")
