"""Comparing values; yes is `1` and no is `0`."""

from __future__ import annotations

from tavernkit.risuai.cbs.functions.arguments import flag, items_or_arguments, number_at
from tavernkit.risuai.cbs.registry import FunctionPack

LOGIC = FunctionPack(
    "logic",
    {
        "equal": lambda call: flag(call.get(0) == call.get(1)),
        "notequal": lambda call: flag(call.get(0) != call.get(1)),
        "greater": lambda call: flag(number_at(call, 0) > number_at(call, 1)),
        "less": lambda call: flag(number_at(call, 0) < number_at(call, 1)),
        "greaterequal": lambda call: flag(number_at(call, 0) >= number_at(call, 1)),
        "lessequal": lambda call: flag(number_at(call, 0) <= number_at(call, 1)),
        "and": lambda call: flag(call.get(0) == "1" and call.get(1) == "1"),
        "or": lambda call: flag(call.get(0) == "1" or call.get(1) == "1"),
        "not": lambda call: flag(call.get(0) != "1"),
        "all": lambda call: flag(all(item == "1" for item in items_or_arguments(call))),
        "any": lambda call: flag(any(item == "1" for item in items_or_arguments(call))),
        "iserror": lambda call: flag(call.need(0).lower().startswith("error:")),
    },
)
