"""Arrays in variables, written as JSON."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.risuai.arrays import place_from_end, sliced
from tavernkit.risuai.triggers import properties
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import Returned, ThrownError, TriggerRun
from tavernkit.text.js_numbers import number_to_string, to_number
from tavernkit.text.js_strings import split_halves
from tavernkit.text.js_values import join, to_text
from tavernkit.values import Json

pack = EffectPack()

_EMPTY = "[]"
_NONE = "null"


@pack.action("v2MakeArrayVar", names=("var",))
def make(run: TriggerRun, name: str) -> None:
    if name.startswith("[") and name.endswith("]"):
        raise Returned
    run.set(name, _EMPTY)


def _value_of(run: TriggerRun, variable: str | None) -> Json:
    return run.json(run.variables.get(run.expand(variable)))


def _list_of(run: TriggerRun, variable: str | None) -> list[Json]:
    value = _value_of(run, variable)
    if not isinstance(value, list):
        raise ThrownError(f"The variable {variable!r} is not an array.")
    return value


def _changing(fields: EffectFields, change: Callable[[TriggerRun, list[Json]], object]) -> Action:
    """An effect that changes the array; what is no array becomes an empty one instead."""
    variable = fields.optional_text("var")

    def act(run: TriggerRun) -> None:
        try:
            items = _list_of(run, variable)
            change(run, items)
        except ThrownError:
            items = []
        run.put(variable, run.to_json(items))

    return act


@pack.answer("v2GetArrayVarLength", variables=("var",), otherwise="0")
def length(run: TriggerRun, array: str) -> str:
    found = properties.get(run.json(array), "length")
    if found is None:
        raise ThrownError("It has no length.")
    return to_text(found)


@pack.answer("v2GetArrayVar", variables=("var",), reads=("index",), otherwise=_NONE)
def item(run: TriggerRun, array: str, index: str) -> Json:
    found = properties.get(run.json(array), number_to_string(to_number(index)))
    return _NONE if found is None else found


@pack.answer("v2GetIndexOfValueInArrayVar", variables=("var",), reads=("value",), otherwise="-1")
def place_of(run: TriggerRun, array: str, wanted: str) -> str:
    value = run.json(array)
    if isinstance(value, list):
        return str(value.index(wanted) if wanted in value else -1)
    if isinstance(value, str):
        return str(split_halves(value).find(split_halves(wanted)))
    raise ThrownError("It is not an array.")


@pack.answer("v2SliceArrayVar", variables=("var",), reads=("start", "end"), otherwise=_EMPTY)
def part(run: TriggerRun, array: str, start: str, end: str) -> str:
    value = run.json(array)
    if isinstance(value, str):
        return run.to_json(sliced(split_halves(value), to_number(start), to_number(end)))
    if not isinstance(value, list):
        raise ThrownError("It is not an array.")
    return run.to_json(sliced(value, to_number(start), to_number(end)))


@pack.answer("v2JoinArrayVar", reads=("var", "delimiter"), otherwise="")
def joined(run: TriggerRun, array: str, between: str) -> str:
    items = run.json(array)
    if not isinstance(items, list):
        raise ThrownError("It is not an array.")
    run.shared.budget.write(len(items) * len(between))
    return join(items, between)


@pack.effect("v2SetArrayVar")
def set_item(fields: EffectFields) -> Action:
    variable, index, value = fields.optional_text("var"), fields.operand("index"), fields.operand("value")

    def act(run: TriggerRun) -> None:
        new = run.text(value)
        place = run.number(index)
        if place != place:  # not-a-number
            return
        try:
            changed = properties.put(_value_of(run, variable), number_to_string(place), new)
        except ThrownError:
            return
        run.put(variable, run.to_json(changed))

    return act


@pack.effect("v2PushArrayVar")
def push(fields: EffectFields) -> Action:
    value = fields.operand("value")
    return _changing(fields, lambda run, items: items.append(run.text(value)))


@pack.effect("v2UnshiftArrayVar")
def unshift(fields: EffectFields) -> Action:
    value = fields.operand("value")
    return _changing(fields, lambda run, items: items.insert(0, run.text(value)))


@pack.effect("v2SpliceArrayVar")
def insert(fields: EffectFields) -> Action:
    start, new = fields.operand("start"), fields.operand("item")

    def change(run: TriggerRun, items: list[Json]) -> None:
        place = place_from_end(run.number(start), len(items))
        items.insert(place, run.text(new))

    return _changing(fields, change)


@pack.effect("v2RemoveIndexFromArrayVar")
def remove(fields: EffectFields) -> Action:
    index = fields.operand("index")

    def change(run: TriggerRun, items: list[Json]) -> None:
        place = place_from_end(run.number(index), len(items))
        del items[place : place + 1]

    return _changing(fields, change)


@pack.effect("v2PopArrayVar", "v2ShiftArrayVar")
def take(fields: EffectFields) -> Action:
    """Take the last or the first item out, and write it down."""
    variable, output = fields.optional_text("var"), fields.optional_text("outputVar")
    place = -1 if fields.type == "v2PopArrayVar" else 0

    def act(run: TriggerRun) -> None:
        name = run.expand(variable)
        try:
            items = _list_of(run, variable)
        except ThrownError:
            run.set(name, _EMPTY)
            run.put(output, _NONE)
            return
        taken = items.pop(place) if items else None
        run.put(output, _NONE if taken is None else taken)
        run.set(name, run.to_json(items))

    return act
