"""Tool calls in OpenAI's form, whose arguments are JSON inside a string."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tavernkit.reading import parse_json
from tavernkit.values import Json, JsonObject


def called_function(call: JsonObject) -> JsonObject:
    """The function of a call, which has a name: `wire.read_messages` has seen to both."""
    function = call["function"]
    return function if isinstance(function, Mapping) else {}


def call_name(call: JsonObject) -> str:
    return str(called_function(call)["name"])


def call_arguments(call: JsonObject) -> Json:
    """The arguments as a value; ParseError when they are a string that is not JSON."""
    arguments = called_function(call).get("arguments")
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    return parse_json(arguments, what=f"The argument text of {call_name(call)!r}")


def write_json(value: Json) -> str:
    """JSON without spaces, numbers written as JavaScript writes them."""
    return json.dumps(_plain_numbers(value), ensure_ascii=False, separators=(",", ":"))


def _plain_numbers(value: Json) -> Json:
    match value:
        case dict():
            return {key: _plain_numbers(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain_numbers(item) for item in value]
        case float() if value.is_integer() and abs(value) < 1e21:
            return int(value)
        case _:
            return value
