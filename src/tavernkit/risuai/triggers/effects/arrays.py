"""Arrays in variables, written as JSON."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.risuai.triggers import properties
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.places import place_from_end, sliced
from tavernkit.risuai.triggers.run import Returned, ThrownError, TriggerRun
from tavernkit.text.js_numbers import number_to_string
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
        raise ThrownError(f"The variable {variable!r} holds no array.")
    return value


def _answering(fields: EffectFields, answer: Callable[[TriggerRun, Json], Json], otherwise: str) -> Action:
    """An effect that asks something of the array and writes the answer, or this text where that cannot be told."""
    variable, output = fields.optional_text("var"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        try:
            found = answer(run, _value_of(run, variable))
        except ThrownError:
            found = otherwise
        run.put(output, found)

    return act


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


@pack.effect("v2GetArrayVarLength")
def length(fields: EffectFields) -> Action:
    def answer(_: TriggerRun, value: Json) -> str:
        found = properties.get(value, "length")
        if found is None:
            raise ThrownError("It has no length.")
        return to_text(found)

    return _answering(fields, answer, "0")


@pack.effect("v2GetArrayVar")
def item(fields: EffectFields) -> Action:
    index = fields.operand("index")

    def answer(run: TriggerRun, value: Json) -> Json:
        found = properties.get(value, number_to_string(run.number(index)))
        return _NONE if found is None else found

    return _answering(fields, answer, _NONE)


@pack.effect("v2GetIndexOfValueInArrayVar")
def place_of(fields: EffectFields) -> Action:
    wanted = fields.operand("value")

    def answer(run: TriggerRun, value: Json) -> str:
        text = run.text(wanted)
        if isinstance(value, list):
            return str(value.index(text) if text in value else -1)
        if isinstance(value, str):
            return str(split_halves(value).find(split_halves(text)))
        raise ThrownError("It is no array.")

    return _answering(fields, answer, "-1")


@pack.effect("v2SliceArrayVar")
def part(fields: EffectFields) -> Action:
    first, last = fields.operand("start"), fields.operand("end")

    def answer(run: TriggerRun, value: Json) -> str:
        start, end = run.number(first), run.number(last)
        if isinstance(value, str):
            return run.to_json(sliced(split_halves(value), start, end))
        if not isinstance(value, list):
            raise ThrownError("It is no array.")
        return run.to_json(sliced(value, start, end))

    return _answering(fields, answer, _EMPTY)


@pack.answer("v2JoinArrayVar", reads=("var", "delimiter"), otherwise="")
def joined(run: TriggerRun, array: str, between: str) -> str:
    items = run.json(array)
    if not isinstance(items, list):
        raise ThrownError("It is no array.")
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


@pack.effect("v2PopArrayVar")
def pop(fields: EffectFields) -> Action:
    return _taking(fields, -1)


@pack.effect("v2ShiftArrayVar")
def shift(fields: EffectFields) -> Action:
    return _taking(fields, 0)


def _taking(fields: EffectFields, place: int) -> Action:
    """An effect that takes an item out and writes it down."""
    variable, output = fields.optional_text("var"), fields.optional_text("outputVar")

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
