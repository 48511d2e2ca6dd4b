"""Branches, loops, and ways to end or to start a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields, Jump, Operand
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.text.js_numbers import to_number
from tavernkit.values import Json

pack = EffectPack()

_BEYOND_THE_LAST = 2**62
_NEARLY = 0.0001


@pack.effect("v2Header", "v2Loop", "v2LoopNTimes", "v2Comment")
def nothing(_: EffectFields) -> Action:
    """A loop is the business of its end."""
    return lambda _: None


@pack.effect("v2If", "v2IfAdvanced")
def branch(fields: EffectFields) -> Action:
    is_variable = fields.type == "v2If" or fields.text("sourceType") == "var"
    source = Operand(text=fields.optional_text("source"), is_variable=is_variable)
    target, holds = fields.operand("target"), _CONDITIONS.get(fields.text("condition"))

    def act(run: TriggerRun) -> int | None:
        left = run.text(source)
        right = run.text(target)
        return None if holds is not None and holds(run, left, right) else fields.jump.place

    return act


def _is_same(left: str, right: str) -> bool:
    """Equal as numbers where both are numbers, so that 1 is 1.0."""
    numbers = to_number(left), to_number(right)
    return left == right if any(map(math.isnan, numbers)) else numbers[0] == numbers[1]


def _is_alike(left: str, right: str) -> bool:
    numbers = to_number(left), to_number(right)
    if any(map(math.isnan, numbers)):
        return left.lower().replace(" ", "") == right.lower().replace(" ", "")
    return abs(numbers[0] - numbers[1]) < _NEARLY


def _includes(run: TriggerRun, json: str, wanted: str) -> bool:
    """Whether the array, or text, that is written as JSON has the text."""
    try:
        value: Json = run.json(json)
    except ThrownError:
        return False
    return isinstance(value, list | str) and wanted in value


def _is_identical(left: str, right: str) -> bool:
    is_true = left in ("true", "1")
    return {"true": is_true, "false": not is_true}.get(right, left == right)


_CONDITIONS: Mapping[str, Callable[[TriggerRun, str, str], bool]] = {
    "=": lambda _, left, right: _is_same(left, right),
    "!=": lambda _, left, right: not _is_same(left, right),
    ">": lambda _, left, right: to_number(left) > to_number(right),
    "<": lambda _, left, right: to_number(left) < to_number(right),
    ">=": lambda _, left, right: to_number(left) >= to_number(right),
    "<=": lambda _, left, right: to_number(left) <= to_number(right),
    "∈": lambda run, left, right: _includes(run, right, left),
    "∋": lambda run, left, right: _includes(run, left, right),
    "∉": lambda run, left, right: not _includes(run, right, left),
    "∌": lambda run, left, right: not _includes(run, left, right),
    "≒": lambda _, left, right: _is_alike(left, right),
    "≡": lambda _, left, right: _is_identical(left, right),
}


@pack.effect("v2Else", "v2BreakLoop")
def jump_away(fields: EffectFields) -> Action:
    return lambda _: fields.jump.place


@pack.effect("v2EndIndent")
def end_of_level(fields: EffectFields) -> Action:
    level, jump = fields.level, fields.jump
    goes_on = _loop(jump) if fields.flag("endOfLoop") else None

    def act(run: TriggerRun) -> int | None:
        is_again = goes_on is not None and goes_on(run)
        if level is not None:
            run.variables.leave(level)
        return jump.place if is_again else None

    return act


def _loop(jump: Jump) -> Callable[[TriggerRun], bool]:
    """Whether the loop begins anew. A counter is never set back, so an inner loop is short from its second time on."""
    begin, loop = jump.begin, jump.loop
    if begin is None or loop is None or begin.type == "v2Loop":
        return lambda _: True
    times = begin.operand("value")

    def counted(run: TriggerRun) -> bool:
        wanted = run.number(times)
        run.loops[loop] = run.loops.get(loop, 0) + 1
        return run.loops[loop] < (0.0 if math.isnan(wanted) else wanted)

    return counted


@pack.effect("v2StopTrigger")
def stop_trigger(_: EffectFields) -> Action:
    return lambda _: _BEYOND_THE_LAST


@pack.action("stop", "v2StopPromptSending")
def stop_sending(run: TriggerRun) -> None:
    run.stop_sending = True


@pack.action("runtrigger", fixed=("value",))
@pack.action("v2RunTrigger", fixed=("target",))
def start_run(run: TriggerRun, name: str) -> None:
    run.shared.start_run(run, name)


@pack.action("v2ConsoleLog", reads=("source",))
def log(run: TriggerRun, text: str) -> None:
    run.write_log(text)
