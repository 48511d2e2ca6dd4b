"""What filters need of texts: the text of any value, and splitting by nothing, which goes by UTF-16 units."""

from __future__ import annotations

import math

from tavernkit.artifacts.liquid.conversion import js_number, to_text
from tavernkit.artifacts.liquid.data import UNDEFINED
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_strings import utf16_units

__all__ = ["count", "replaced", "split_text", "text_of"]


def text_of(rendering: Rendering, value: object) -> str:
    """The text of a value, paid for."""
    text = to_text(value, rendering.meter)
    rendering.meter.made(len(text))
    return text


def split_text(text: str, separator: str) -> list[str]:
    """What `text.split(separator)` gives."""
    if separator:
        return text.split(separator)
    return list(text) if text.isascii() else [chr(unit) for unit in utf16_units(text)]


def replaced(rendering: Rendering, text: str, part: str, other: str) -> str:
    """What `text.split(part).join(other)` gives: nothing as a part stands between all characters."""
    parts = split_text(text, part)
    rendering.meter.made(len(text) + len(other) * len(parts))
    return other.join(parts)


def count(rendering: Rendering, value: object, default: float) -> float:
    """A number of characters or words; zero for what is no number."""
    number = float(default) if value is UNDEFINED else js_number(value, rendering.meter)
    return 0.0 if math.isnan(number) else max(-1e9, min(number, 1e9))
