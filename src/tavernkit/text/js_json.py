"""JSON as JavaScript writes it: spaces, numbers and halves of surrogate pairs in its spelling."""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring
from typing import NoReturn

from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import join_halves
from tavernkit.values import Json

MAX_DEPTH = 200
_LONGEST_EXACT = 15  # digits that a double holds whatever they are
_LAST_INDEX = 2**32 - 2
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")

# What Python would write for numbers that JavaScript spells in another way; the same in a text does no harm.
_SPELT_OTHERWISE = re.compile(r"[0-9](?:\.0(?![0-9])|e[-+]?[0-9])|NaN|Infinity")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def from_json(text: str) -> Json:
    """What `JSON.parse(text)` gives; ValueError for text that is no JSON or is nested more than 200 levels deep."""
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    return value


def in_property_order(fields: dict[str, Json]) -> dict[str, Json]:
    """The fields in the order that JavaScript's objects keep: whole numbers first, by size, then the rest as it was."""
    indices = sorted((name for name in fields if is_index(name)), key=int)
    return {**{name: fields[name] for name in indices}, **fields} if indices else fields


def is_index(name: str) -> bool:
    """Whether JavaScript takes the name of a property for a place in an array."""
    return _INDEX.fullmatch(name) is not None and int(name) <= _LAST_INDEX


def _is_deeper(value: Json, levels: int) -> bool:
    layer = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        layer = [child for item in layer for child in (item.values() if isinstance(item, dict) else item)]
        layer = [child for child in layer if isinstance(child, dict | list)]
    return bool(layer)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(
    object_hook=in_property_order,
    parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_EXACT else float(digits),
    parse_constant=_refuse,
)


def to_json(value: Json, *, indent: int = 0) -> str:
    """JSON, character for character what `JSON.stringify` gives: one line, or indented by so many spaces."""
    text = _indented(value, "\n", " " * indent) if indent else _ENCODER.encode(value)
    if not indent and _SPELT_OTHERWISE.search(text):
        text = _spell(value)
    if not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", join_halves(text))


def _spell(value: Json) -> str:
    match value:
        case str():
            return encode_basestring(value)
        case dict():
            return "{" + ",".join(f"{encode_basestring(key)}:{_spell(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_spell, value)) + "]"
        case float():
            return number_to_string(value) if math.isfinite(value) else "null"
        case _:
            return json.dumps(value)


def _indented(value: Json, line: str, step: str) -> str:
    inner = line + step
    match value:
        case dict() if value:
            fields = (f"{encode_basestring(key)}: {_indented(item, inner, step)}" for key, item in value.items())
            return f"{{{inner}{f',{inner}'.join(fields)}{line}}}"
        case list() | tuple() if value:
            return f"[{inner}{f',{inner}'.join(_indented(item, inner, step) for item in value)}{line}]"
        case _:
            return _spell(value)
