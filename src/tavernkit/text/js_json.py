"""JSON as JavaScript writes it: no spaces, numbers in its spelling, halves of surrogate pairs as escapes."""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring

from tavernkit.text.js_numbers import number_to_string
from tavernkit.values import Json

__all__ = ["to_json"]

# What Python would write for numbers that JavaScript spells in another way; the same in a text does no harm.
_SPELT_OTHERWISE = re.compile(r"[0-9](?:\.0(?![0-9])|e[-+]?[0-9])|NaN|Infinity")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def to_json(value: Json) -> str:
    """One line of JSON, character for character what `JSON.stringify` gives."""
    text = _ENCODER.encode(value)
    if _SPELT_OTHERWISE.search(text):
        text = _spell(value)
    return _escape_halves(text) if _SURROGATE.search(text) else text


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


def _escape_halves(text: str) -> str:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", whole)
