"""When a trigger runs: the conditions that come before its effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tavernkit.risuai.arrays import sliced
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import TriggerRun
from tavernkit.text.js_numbers import to_number
from tavernkit.text.js_values import to_number as value_to_number
from tavernkit.values import JsonObject

TriggerCondition: TypeAlias = Callable[[TriggerRun], bool]


def read_condition(source: JsonObject) -> TriggerCondition:
    """The condition as something to ask; one of an unknown kind always holds."""
    fields = EffectFields(source)
    match fields.type:
        case "var":
            name = fields.text("var")
            return _compared(fields, lambda run: run.variables.get(name))
        case "value":
            value = fields.optional_text("var")
            return _compared(fields, lambda _: value)
        case "chatindex":
            return _compared(fields, lambda run: str(len(run.messages)))
        case "exists":
            return _exists(fields)
        case _:
            return lambda _: True


def _compared(fields: EffectFields, left: Callable[[TriggerRun], str | None]) -> TriggerCondition:
    right, compare = fields.optional_text("value"), _COMPARISONS.get(fields.text("operator"))

    def holds(run: TriggerRun) -> bool:
        value = left(run)
        if value is None:
            return False
        wanted = run.expand(right)
        text = run.expand(value)
        return compare is None or compare(text, wanted)

    return holds


# RisuAI asks for the opposite and refuses then, so what cannot be compared as a number passes.
_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "true": lambda left, _: left in ("true", "1"),
    "null": lambda left, _: left == "null",
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    ">": lambda left, right: not to_number(left) <= to_number(right),
    "<": lambda left, right: not to_number(left) >= to_number(right),
    ">=": lambda left, right: not to_number(left) < to_number(right),
    "<=": lambda left, right: not to_number(left) > to_number(right),
}


def _exists(fields: EffectFields) -> TriggerCondition:
    wanted, how = fields.optional_text("value"), fields.text("type2")
    depth = fields.raw("depth")
    number = math.nan if depth is None else value_to_number(depth)

    def holds(run: TriggerRun) -> bool:
        found = is_in_chat(run, run.expand(run.expand(wanted)), how, number)
        return found is not False

    return holds


def is_in_chat(run: TriggerRun, wanted: str, how: str, depth: float) -> bool | None:
    """Whether the last `depth` messages, all with 0, have a word (`strict`), a text in any case (`loose`), or a match
    of a pattern (`regex`); None for any other way to look."""
    text = " ".join(message.data for message in sliced(run.messages, -depth))
    run.shared.budget.step(len(text))
    match how:
        case "strict":
            return wanted in text.split(" ")
        case "loose":
            return wanted.lower() in text.lower()
        case "regex":
            return run.test(run.regex(wanted), text)
        case _:
            return None
