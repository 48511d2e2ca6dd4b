"""Values as JavaScript turns them into text when a replacement gives them back."""

from __future__ import annotations

from tavernkit.text.js_numbers import number_to_string
from tavernkit.values import Json

__all__ = ["js_text"]


def js_text(value: Json) -> str:
    """What `String(value)` gives for anything JSON can hold."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return number_to_string(value)
        case list():
            return ",".join("" if item is None else js_text(item) for item in value)
        case _:
            return "[object Object]"
