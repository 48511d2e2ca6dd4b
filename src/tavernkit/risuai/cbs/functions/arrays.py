"""Making and changing arrays."""

from __future__ import annotations

from collections.abc import Hashable

from tavernkit.risuai.arrays import parse_array, place_from_end, write_array
from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import LONGEST_TEXT, MOST_ITEMS, answer, number_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text import js_values
from tavernkit.text.js_json import is_index
from tavernkit.text.js_numbers import number_to_string, to_integer
from tavernkit.values import Json

ARRAYS = FunctionPack(
    "arrays",
    {
        "join": lambda call: _joined(call, call.need(1) if len(call.arguments) > 1 else ","),
        "spread": lambda call: _joined(call, "::"),
        "makearray array a": lambda call: write_array(call.arguments),
        "arraylength": lambda call: str(len(parse_array(call.need(0)))),
        "arrayshift": lambda call: write_array(parse_array(call.need(0))[1:]),
        "arraypop": lambda call: write_array(parse_array(call.need(0))[:-1]),
        "arraypush": lambda call: write_array([*parse_array(call.need(0)), call.get(1)]),
    },
)


def _joined(call: CBSCall, between: str) -> str:
    items = parse_array(call.need(0))
    if len(items) * len(between) > LONGEST_TEXT:
        raise LeftAsText
    return js_values.join(items, between)


@ARRAYS.function("arrayelement")
def array_element(call: CBSCall) -> str:
    items = parse_array(call.need(0))
    index = to_integer(number_at(call, 1))
    index = index + len(items) if index < 0 else index
    item = items[int(index)] if 0 <= index < len(items) else None
    return "null" if item is None else answer(item)


@ARRAYS.function("arraysplice")
def array_splice(call: CBSCall) -> str:
    items = parse_array(call.need(0))
    start = place_from_end(number_at(call, 1), len(items))
    count = min(max(to_integer(number_at(call, 2)), 0), len(items) - start)
    items[start : start + int(count)] = [call.get(3)]
    return write_array(items)


@ARRAYS.function("arrayassert")
def array_assert(call: CBSCall) -> str:
    items = parse_array(call.need(0))
    index = number_at(call, 1)
    # A name that is no place in an array becomes a property, which JSON does not write.
    if index >= len(items) and is_index(number_to_string(index)):
        if index >= MOST_ITEMS:
            raise LeftAsText
        items += [*([None] * (int(index) - len(items))), call.get(2)]
    return write_array(items)


@ARRAYS.function("range")
def number_range(call: CBSCall) -> str:
    match [js_values.to_number(item) for item in parse_array(call.need(0))]:
        case []:
            return "[]"
        case [end]:
            start, step = 0.0, 1.0
        case [start, end]:
            step = 1.0
        case [start, end, step, *_]:
            pass
    numbers: list[str] = []
    while start < end:
        if len(numbers) == MOST_ITEMS:
            raise LeftAsText
        numbers.append(number_to_string(start))
        start += step
    return write_array(numbers)


@ARRAYS.function("filter")
def filter_array(call: CBSCall) -> str:
    kind = call.get(1)
    keeps_empty, keeps_doubles = kind == "unique", kind == "nonempty"
    kept: list[Json] = []
    seen: set[Hashable] = set()
    for item in parse_array(call.need(0)):
        identity = _identity(item)
        if (keeps_empty or item != "") and (keeps_doubles or identity not in seen):
            kept.append(item)
        seen.add(identity)
    return write_array(kept)


def _identity(item: Json) -> Hashable:
    """What `===` compares: type and value, while arrays and objects are only ever themselves."""
    if isinstance(item, list | dict):
        return (object, id(item))
    return (float if type(item) is int else type(item), item)
