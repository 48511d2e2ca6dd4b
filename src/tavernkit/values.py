"""The base of every value object, and the types that name what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeAlias, get_args

import msgspec

__all__ = ["Json", "JsonObject", "Value", "check_choice"]

Json: TypeAlias = Any
"""Anything `json.loads` can return; its shape is known only to whoever wrote it."""

JsonObject: TypeAlias = Mapping[str, Json]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable value. Nested mappings are read-only by convention, not by force."""

    def with_(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed."""
        return msgspec.structs.replace(self, **changes)


def check_choice(argument: str, value: object, choices: object) -> None:
    """Raise ValueError unless the value of an argument is one of those that a Literal type names."""
    allowed = get_args(choices)
    if value not in allowed:
        raise ValueError(f"{argument} is {value!r}; it must be one of {', '.join(map(repr, allowed))}.")
