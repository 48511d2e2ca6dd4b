"""Arrays as CBS texts hold them, a JSON array or items between `§`, and places in them as JavaScript names them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from tavernkit.text.js_json import from_json, to_json
from tavernkit.values import Json

_S = TypeVar("_S", list[Any], str)


def parse_array(text: str) -> list[Json]:
    """The items of the text; what is no JSON array is split at `§`, and so has at least one item."""
    if text.lstrip().startswith("["):
        try:
            items = from_json(text)
        except ValueError:
            return [*text.split("§")]
        if isinstance(items, list):
            return items
    return [*text.split("§")]


def write_array(items: Iterable[Json]) -> str:
    """The items as JSON; RisuAI spells `::`, which would part arguments, as an escape, and JSON escapes that again."""
    return to_json([item.replace("::", r"\u003A\u003A") if isinstance(item, str) else item for item in items])


def place_in(items: Sequence[object], number: float) -> int | None:
    """The place that `items[number]` means, or None where JavaScript finds nothing there."""
    if not math.isfinite(number) or number != int(number) or not 0 <= number < len(items):
        return None
    return int(number)


def place_from_end(number: float, length: int) -> int:
    """A place that counts from the end where it is negative, held within the list; not-a-number is the beginning."""
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return length if number > 0 else 0
    place = int(number)
    return max(length + place, 0) if place < 0 else min(place, length)


def sliced(items: _S, start: float, end: float = math.inf) -> _S:
    """What `items.slice(start, end)` gives."""
    return items[place_from_end(start, len(items)) : place_from_end(end, len(items))]
