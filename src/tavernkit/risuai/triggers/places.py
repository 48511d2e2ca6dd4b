"""Places in lists and texts, as JavaScript's numbers name them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

_S = TypeVar("_S", list[Any], str)


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
