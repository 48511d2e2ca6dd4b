"""Dictionaries in variables, written as JSON objects."""

from __future__ import annotations

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


@pack.answer("v2GetDictVar", reads=("var", "key"), otherwise="null")
def item(run: TriggerRun, dictionary: str, key: str) -> Json:
    found = properties.get(run.json(dictionary), key)
    return "null" if found is None else found


@pack.answer("v2HasDictKey", reads=("var", "key"), otherwise="0")
def has_key(run: TriggerRun, dictionary: str, key: str) -> str:
    return "1" if properties.has(run.json(dictionary), key) else "0"


@pack.answer("v2GetDictSize", reads=("var",), otherwise="0")
def size(run: TriggerRun, dictionary: str) -> str:
    return str(len(properties.names(run.json(dictionary))))


@pack.answer("v2GetDictKeys", reads=("var",), otherwise="[]")
def keys(run: TriggerRun, dictionary: str) -> str:
    return to_json(properties.names(run.json(dictionary)))


@pack.answer("v2GetDictValues", reads=("var",), otherwise="[]")
def values(run: TriggerRun, dictionary: str) -> str:
    return to_json(properties.values(run.json(dictionary)))


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
        run.put(variable, run.to_json(changed))

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
        run.put(variable, run.to_json(changed))

    return act
