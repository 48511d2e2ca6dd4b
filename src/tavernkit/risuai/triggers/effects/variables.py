"""Setting variables, arithmetic, chance."""

from __future__ import annotations

import math
import re

from tavernkit.risuai.cbs.calculator import calculate
from tavernkit.risuai.cbs.call import LeftAsText
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.text.js_numbers import number_to_string, parse_float, to_number

pack = EffectPack()

_NAME = re.compile(r"\$([a-zA-Z0-9_]+)")


@pack.effect("setvar")
def set_variable_v1(fields: EffectFields) -> Action:
    return _setting(fields, Operand(text=fields.optional_text("value")))


@pack.effect("v2SetVar")
def set_variable(fields: EffectFields) -> Action:
    return _setting(fields, fields.operand("value"))


def _setting(fields: EffectFields, value: Operand) -> Action:
    variable, operator = fields.optional_text("var"), fields.text("operator")
    has_remainder = fields.type == "v2SetVar"

    def act(run: TriggerRun) -> None:
        given = run.text(value)
        name = run.expand(variable)
        if operator == "=":
            run.set(name, given)
            return
        old = to_number(run.variables.get(name))
        if math.isnan(old):
            old = 0.0
        known = operator in ("+=", "-=", "*=", "/=") or (operator == "%=" and has_remainder)
        run.set(name, number_to_string(_calculate(old, operator, to_number(given))) if known else "")

    return act


def _calculate(left: float, operator: str, right: float) -> float:
    match operator:
        case "+=":
            return left + right
        case "-=":
            return left - right
        case "*=":
            return left * right
        case "/=":
            return _divide(left, right)
        case _:
            return math.nan if not right or math.isinf(left) else math.fmod(left, right)


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


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


@pack.effect("v2Random")
def random_number(fields: EffectFields) -> Action:
    smallest, largest, output = fields.operand("min"), fields.operand("max"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        low, high = run.number(smallest), run.number(largest)
        drawn = run.scene.random() * (high - low + 1) + low
        run.put(output, number_to_string(math.floor(drawn) if math.isfinite(drawn) else drawn))

    return act


@pack.effect("v2Calculate")
def calculation(fields: EffectFields) -> Action:
    expression, output = fields.operand("expression"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        try:
            result = number_to_string(_result(run, run.text(expression)))
        except ThrownError:
            result = "0"
        run.put(output, result)

    return act


def _result(run: TriggerRun, expression: str) -> float:
    run.shared.budget.step(len(expression))
    try:
        return calculate(_NAME.sub(lambda found: _number_of(run, found[1]), expression), run.scene)
    except LeftAsText:
        raise ThrownError(f"{expression[:40]!r} cannot be calculated.") from None


def _number_of(run: TriggerRun, name: str) -> str:
    number = parse_float(run.variables.get(name))
    return "0" if math.isnan(number) else number_to_string(number)


@pack.effect("v2Tokenize")
def count_tokens(fields: EffectFields) -> Action:
    value, output = fields.operand("value"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        text = run.text(value)
        run.shared.budget.step(len(text))
        run.put(output, str(run.scene.count_tokens(text)))

    return act
