"""The base of every value object, and the types that name what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeAlias

import msgspec

__all__ = ["Json", "JsonObject", "Value"]

Json: TypeAlias = Any
"""Anything `json.loads` can return; its shape is known only to whoever wrote it."""

JsonObject: TypeAlias = Mapping[str, Json]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable value. Nested mappings are read-only by convention, not by force."""

    def with_(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed."""
        return msgspec.structs.replace(self, **changes)
