"""Dictionaries in variables, written as JSON objects."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.risuai.triggers import properties
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import Returned, ThrownError, TriggerRun
from tavernkit.text.js_json import to_json
from tavernkit.values import Json

pack = EffectPack()


@pack.effect("v2MakeDictVar", "v2ClearDict")
def make(fields: EffectFields) -> Action:
    variable = fields.optional_text("var")

    def act(run: TriggerRun) -> None:
        if variable is not None and variable.startswith("{") and variable.endswith("}"):
            raise Returned
        run.put(variable, "{}")

    return act


def _answering(fields: EffectFields, answer: Callable[[TriggerRun, Json], Json], otherwise: str) -> Action:
    """An effect that asks something of the dictionary and writes the answer, or this text where that cannot be told."""
    dictionary, output = fields.operand("var"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        try:
            found = answer(run, run.json(run.text(dictionary)))
        except ThrownError:
            found = otherwise
        run.put(output, found)

    return act


@pack.effect("v2GetDictVar")
def item(fields: EffectFields) -> Action:
    key = fields.operand("key")

    def answer(run: TriggerRun, value: Json) -> Json:
        found = properties.get(value, run.text(key))
        return "null" if found is None else found

    return _answering(fields, answer, "null")


@pack.effect("v2HasDictKey")
def has_key(fields: EffectFields) -> Action:
    key = fields.operand("key")
    return _answering(fields, lambda run, value: "1" if properties.has(value, run.text(key)) else "0", "0")


@pack.effect("v2GetDictSize")
def size(fields: EffectFields) -> Action:
    return _answering(fields, lambda _, value: str(len(properties.names(value))), "0")


@pack.effect("v2GetDictKeys")
def keys(fields: EffectFields) -> Action:
    return _answering(fields, lambda _, value: to_json(properties.names(value)), "[]")


@pack.effect("v2GetDictValues")
def values(fields: EffectFields) -> Action:
    return _answering(fields, lambda _, value: to_json(properties.values(value)), "[]")


@pack.effect("v2SetDictVar")
def set_item(fields: EffectFields) -> Action:
    variable, kind = fields.optional_text("var"), fields.text("varType")
    key, value = fields.operand("key"), fields.operand("value")

    def act(run: TriggerRun) -> None:
        new, name = run.text(value), run.text(key)
        if kind == "value":
            return
        try:
            changed = properties.put(run.json(run.variables.get(run.expand(variable))), name, new)
        except ThrownError:
            if kind != "var":
                return
            new = run.text(value)
            changed = {run.text(key): new}
        run.put_json(run.expand(variable), changed)

    return act


@pack.effect("v2DeleteDictKey")
def delete_item(fields: EffectFields) -> Action:
    variable, kind, key = fields.optional_text("var"), fields.text("varType"), fields.operand("key")

    def act(run: TriggerRun) -> None:
        if kind == "value":
            return
        try:
            value = run.json(run.variables.get(run.expand(variable)))
            changed = properties.remove(value, run.text(key))
        except ThrownError:
            if kind != "var":
                return
            changed = {}
        run.put_json(run.expand(variable), changed)

    return act
