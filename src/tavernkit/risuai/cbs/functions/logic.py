"""Comparing values; yes is `1` and no is `0`."""

from __future__ import annotations

from tavernkit.risuai.cbs.call import CBSCall
from tavernkit.risuai.cbs.functions.arguments import flag, items_or_arguments, number_at
from tavernkit.risuai.cbs.registry import FunctionPack

LOGIC = FunctionPack("logic")


@LOGIC.function("equal")
def equal(call: CBSCall) -> str:
    return flag(call.get(0) == call.get(1))


@LOGIC.function("notequal")
def not_equal(call: CBSCall) -> str:
    return flag(call.get(0) != call.get(1))


@LOGIC.function("greater")
def greater(call: CBSCall) -> str:
    return flag(number_at(call, 0) > number_at(call, 1))


@LOGIC.function("less")
def less(call: CBSCall) -> str:
    return flag(number_at(call, 0) < number_at(call, 1))


@LOGIC.function("greaterequal")
def greater_equal(call: CBSCall) -> str:
    return flag(number_at(call, 0) >= number_at(call, 1))


@LOGIC.function("lessequal")
def less_equal(call: CBSCall) -> str:
    return flag(number_at(call, 0) <= number_at(call, 1))


@LOGIC.function("and")
def both(call: CBSCall) -> str:
    return flag(call.get(0) == "1" and call.get(1) == "1")


@LOGIC.function("or")
def either(call: CBSCall) -> str:
    return flag(call.get(0) == "1" or call.get(1) == "1")


@LOGIC.function("not")
def neither(call: CBSCall) -> str:
    return flag(call.get(0) != "1")


@LOGIC.function("all")
def every(call: CBSCall) -> str:
    return flag(all(item == "1" for item in items_or_arguments(call)))


@LOGIC.function("any")
def some(call: CBSCall) -> str:
    return flag(any(item == "1" for item in items_or_arguments(call)))


@LOGIC.function("iserror")
def is_error(call: CBSCall) -> str:
    return flag(call.need(0).lower().startswith("error:"))
