"""Setting variables, arithmetic, chance."""

from __future__ import annotations

import math
import operator as arithmetic
import re
from collections.abc import Callable, Mapping

from tavernkit.risuai.cbs.calculator import calculate, js_divide
from tavernkit.risuai.cbs.call import LeftAsText
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.text.js_numbers import js_remainder, number_to_string, parse_float, to_number

pack = EffectPack()

_NAME = re.compile(r"\$([a-zA-Z0-9_]+)")
_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+=": arithmetic.add,
    "-=": arithmetic.sub,
    "*=": arithmetic.mul,
    "/=": js_divide,
    "%=": js_remainder,
}


@pack.action("setvar", "v2SetVar", reads=("value",), names=("var",), fixed=("operator", "type"))
def set_variable(run: TriggerRun, given: str, name: str, operator: str, type: str) -> None:
    if operator == "=":
        run.set(name, given)
        return
    old = to_number(run.variables.get(name))
    compute = _OPERATORS.get(operator) if operator != "%=" or type == "v2SetVar" else None
    result = None if compute is None else compute(0.0 if math.isnan(old) else old, to_number(given))
    run.set(name, "" if result is None else number_to_string(result))


@pack.effect("v2DeclareLocalVar")
def declare_local(fields: EffectFields) -> Action:
    variable, value, level = fields.optional_text("var"), fields.operand("value"), fields.level

    def act(run: TriggerRun) -> None:
        given = run.text(value)
        name = run.expand(variable)
        if level is not None and level >= 0:
            run.shared.budget.write(len(given))
            run.variables.declare(name, given, level)

    return act


@pack.answer("v2Random", reads=("min", "max"))
def random_number(run: TriggerRun, smallest: str, largest: str) -> str:
    low, high = to_number(smallest), to_number(largest)
    drawn = run.scene.random() * (high - low + 1) + low
    return number_to_string(math.floor(drawn) if math.isfinite(drawn) else drawn)


@pack.answer("v2Calculate", reads=("expression",), otherwise="0")
def calculation(run: TriggerRun, expression: str) -> str:
    run.shared.budget.step(len(expression))
    try:
        return number_to_string(calculate(_NAME.sub(lambda found: _number_of(run, found[1]), expression), run.scene))
    except LeftAsText:
        raise ThrownError(f"{expression[:40]!r} cannot be calculated.") from None


def _number_of(run: TriggerRun, name: str) -> str:
    number = parse_float(run.variables.get(name))
    return "0" if math.isnan(number) else number_to_string(number)


@pack.answer("v2Tokenize", reads=("value",))
def count_tokens(run: TriggerRun, text: str) -> str:
    run.shared.budget.step(len(text))
    return str(run.scene.count_tokens(text))
