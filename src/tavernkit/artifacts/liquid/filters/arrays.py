"""Filters that make lists of lists, or take something out of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cmp_to_key

from tavernkit.artifacts.liquid.comparing import is_falsy, order, same_key
from tavernkit.artifacts.liquid.conversion import index, js_add, js_number, js_text, number_or_zero, sliced
from tavernkit.artifacts.liquid.data import UNDEFINED, Drop, is_array, is_nil, is_object, plain
from tavernkit.artifacts.liquid.filters.texts import text_of
from tavernkit.artifacts.liquid.limits import Meter
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_strings import utf16_length

__all__ = ["FILTERS", "listed"]


def listed(rendering: Rendering, value: object) -> list[object]:
    """A copy of the list; nothing is an empty one, anything else a list of itself."""
    value = plain(value)
    if is_nil(value):
        return []
    if is_array(value):
        rendering.meter.made(len(value))
        return list(value)
    return [value]


def _join(rendering: Rendering, value: object, separator: object = UNDEFINED, *_: object) -> str:
    items = listed(rendering, value)
    between = " " if is_nil(plain(separator)) else text_of(rendering, separator)
    texts = ["" if is_nil(item) else js_text(item, rendering.meter) for item in items]
    rendering.meter.made(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _first(rendering: Rendering, value: object, *_: object) -> object:
    return _at(rendering, value, 0)


def _last(rendering: Rendering, value: object, *_: object) -> object:
    return _at(rendering, value, -1)


def _at(rendering: Rendering, value: object, place: int) -> object:
    value = plain(value)
    if isinstance(value, str) and value:
        return rendering.read(value, place + utf16_length(value) if place < 0 else place)
    return rendering.read(value, place) if is_array(value) else ""


def _size(rendering: Rendering, value: object, *_: object) -> object:
    """How long a list or text is; objects and numbers have no size here."""
    if isinstance(value, Drop) or (is_object(value) and "length" in value):
        length = rendering.read(value, "length")
        return 0 if is_falsy(length) else length
    if isinstance(value, str) or is_array(value):
        return rendering.read(value, "length")
    return 0


def _reverse(rendering: Rendering, value: object, *_: object) -> list[object]:
    return listed(rendering, value)[::-1]


def _sort(rendering: Rendering, value: object, field: object = UNDEFINED, *_: object) -> list[object]:
    items = listed(rendering, value)
    return _sorted(rendering, items, _parts(rendering, items, field))


def _sort_natural(rendering: Rendering, value: object, field: object = UNDEFINED, *_: object) -> list[object]:
    """In the order of texts, without regard to case."""
    items = listed(rendering, value)
    keys = _parts(rendering, items, field)
    texts = [key if is_nil(key) else js_text(key, rendering.meter).lower() for key in keys]
    return _sorted(rendering, items, texts)


def _parts(rendering: Rendering, items: list[object], field: object) -> list[object]:
    """What stands at a path in each item; the items themselves where no path is given."""
    if is_falsy(field):
        return items
    path = text_of(rendering, field)
    return [rendering.dotted(item, path) for item in items]


def _sorted(rendering: Rendering, items: list[object], keys: list[object]) -> list[object]:
    def compare(one: int, other: int) -> int:
        return order(keys[one], keys[other], rendering.meter)

    return [items[place] for place in sorted(range(len(items)), key=cmp_to_key(compare))]


def _map(rendering: Rendering, value: object, field: object = UNDEFINED, *_: object) -> list[object]:
    path = text_of(rendering, field)
    return [rendering.dotted(item, path) for item in listed(rendering, value)]


def _sum(rendering: Rendering, value: object, field: object = UNDEFINED, *_: object) -> float:
    total = 0.0
    for item in _parts(rendering, listed(rendering, value), field):
        number = js_number(item, rendering.meter)
        total += 0.0 if math.isnan(number) else number
    return total


def _compact(rendering: Rendering, value: object, *_: object) -> list[object]:
    return [item for item in listed(rendering, value) if not is_nil(plain(item))]


def _concat(rendering: Rendering, value: object, other: object = UNDEFINED, *_: object) -> list[object]:
    return listed(rendering, value) + listed(rendering, other)


def _push(rendering: Rendering, value: object, item: object = UNDEFINED, *_: object) -> list[object]:
    return [*listed(rendering, value), item]


def _unshift(rendering: Rendering, value: object, item: object = UNDEFINED, *_: object) -> list[object]:
    return [item, *listed(rendering, value)]


def _pop(rendering: Rendering, value: object, *_: object) -> list[object]:
    return listed(rendering, value)[:-1]


def _shift(rendering: Rendering, value: object, *_: object) -> list[object]:
    return listed(rendering, value)[1:]


def _uniq(rendering: Rendering, value: object, *_: object) -> list[object]:
    """Each value once; objects are the same only if they are one."""
    kept: dict[tuple[str, object], object] = {}
    for item in listed(rendering, value):
        kept.setdefault(same_key(item), item)
    return list(kept.values())


def _slice(
    rendering: Rendering, value: object, start: object = UNDEFINED, length: object = UNDEFINED, *_: object
) -> object:
    """A part of a list or of a text, which counts in whole characters."""
    value = plain(value)
    if is_nil(value):
        return []
    meter = rendering.meter
    whole = list(value) if is_array(value) else text_of(rendering, value)
    place = js_number(start, meter)
    if place < -len(whole):
        return whole[:0]
    begin = js_add(start, len(whole), meter) if place < 0 else start
    size = 1.0 if length is UNDEFINED else length
    if isinstance(whole, list):
        return whole[sliced(len(whole), index(begin, meter), index(js_add(begin, size, meter), meter))]
    first = _count(begin, len(whole), meter)
    return whole[first : first + _count(size, len(whole), meter)]


def _count(value: object, most: int, meter: Meter) -> int:
    """So many characters, a part of one being one."""
    return math.ceil(max(0.0, min(number_or_zero(value, meter), most)))


def _sample(rendering: Rendering, value: object, count: object = UNDEFINED, *_: object) -> object:
    """One member by chance, or a list of as many as wanted."""
    value = plain(value)
    if is_nil(value):
        return []
    items: list[object] = list(value) if is_array(value) else list(text_of(rendering, value))
    rendering.meter.made(len(items))
    for place in range(len(items) - 1, 0, -1):
        other = int(rendering.random() * (place + 1))
        items[place], items[other] = items[other], items[place]
    if count is UNDEFINED or (count == 1 and not isinstance(count, bool)):
        return items[0] if items else UNDEFINED
    return items[sliced(len(items), 0, index(count, rendering.meter))]


FILTERS: dict[str, Callable[..., object]] = {
    "compact": _compact,
    "concat": _concat,
    "first": _first,
    "join": _join,
    "last": _last,
    "map": _map,
    "pop": _pop,
    "push": _push,
    "reverse": _reverse,
    "sample": _sample,
    "shift": _shift,
    "size": _size,
    "slice": _slice,
    "sort": _sort,
    "sort_natural": _sort_natural,
    "sum": _sum,
    "uniq": _uniq,
    "unshift": _unshift,
}
