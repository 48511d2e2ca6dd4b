"""The character's lorebook.

The older effects look for entries as if each were a list of name, text and switch, which it no longer is in RisuAI
itself: they find nothing.
"""

from __future__ import annotations

import math

from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.triggers import literal
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.places import place_in
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.text.js_numbers import number_to_string, to_number
from tavernkit.text.js_regex import JsRegex

pack = EffectPack()

_NONE = "null"
_SLOT = "{{slot}}"
_USUAL_ORDER = 100
_OLD_SWITCH = "2"


def _write(run: TriggerRun, lore: list[LoreEntry]) -> None:
    run.change_character(run.character.with_(lore=tuple(lore)))


@pack.effect("v2ModifyLorebook")
def modify_old(fields: EffectFields) -> Action:
    target, value = fields.operand("target"), fields.operand("value")

    def act(run: TriggerRun) -> None:
        run.text(target)
        run.text(value)
        if run.scene.character is not None:
            run.scene.character = run.scene.character.with_(lore=run.character.lore)

    return act


@pack.effect("v2GetLorebook")
def get_old(fields: EffectFields) -> Action:
    target, output = fields.operand("target"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        run.text(target)
        run.put(output, _NONE)

    return act


@pack.effect("v2GetLorebookEntry")
def entry_old(fields: EffectFields) -> Action:
    index, output = fields.operand("index"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        run.text(index)
        run.put(output, _NONE)

    return act


@pack.effect("v2GetLorebookIndexViaName")
def index_old(fields: EffectFields) -> Action:
    name, output = fields.operand("name"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        run.text(name)
        run.put(output, "-1")

    return act


@pack.effect("v2SetLorebookActivation")
def activate_old(fields: EffectFields) -> Action:
    index, value = fields.operand("index"), fields.raw("value")

    def act(run: TriggerRun) -> None:
        lore = list(run.character.lore)
        place = place_in(lore, run.number(index))
        if place is None:
            raise ThrownError("There is no entry of the lorebook at that place.")
        lore[place] = lore[place].with_(written={**lore[place].written, _OLD_SWITCH: value})
        _write(run, lore)

    return act


@pack.effect("v2GetLorebookCount", "v2GetLorebookCountNew")
def count(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, str(len(run.character.lore)))


@pack.effect("v2GetAllLorebooks")
def contents(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put_json(run.expand(output), [entry.content for entry in run.character.lore])


@pack.effect("v2GetLorebookByName")
def find_by_name(fields: EffectFields) -> Action:
    name, output = fields.operand("name"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        pattern = run.regex(run.text(name), "i")
        found = [place for place, entry in enumerate(run.character.lore) if _is_found(run, pattern, entry.comment)]
        run.put_json(run.expand(output), found)

    return act


def _is_found(run: TriggerRun, pattern: JsRegex, text: str) -> bool:
    return run.match(text, lambda limit: pattern.test(text, limit=limit))


@pack.effect("v2GetLorebookByIndex")
def content_at(fields: EffectFields) -> Action:
    index, output = fields.operand("index"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        place = place_in(run.character.lore, run.number(index))
        run.put(output, _NONE if place is None else run.character.lore[place].content)

    return act


@pack.effect("v2CreateLorebook")
def create(fields: EffectFields) -> Action:
    name, key, content = fields.operand("name"), fields.operand("key"), fields.operand("content")
    insert_order = fields.operand("insertOrder")

    def act(run: TriggerRun) -> None:
        comment, keys, text = run.text(name), run.text(key), run.text(content)
        order = run.number(insert_order)
        run.shared.budget.step(100 * len(run.character.lore))
        run.shared.budget.write(len(comment) + len(keys) + len(text))
        entry = LoreEntry(
            key=keys, comment=comment, content=text, insert_order=_USUAL_ORDER if math.isnan(order) else order
        )
        _write(run, [*run.character.lore, entry])

    return act


@pack.effect("v2ModifyLorebookByIndex")
def modify(fields: EffectFields) -> Action:
    index, name, key = fields.operand("index"), fields.operand("name"), fields.operand("key")
    content, insert_order = fields.operand("content"), fields.operand("insertOrder")

    def act(run: TriggerRun) -> None:
        lore = list(run.character.lore)
        place = place_in(lore, run.number(index))
        if place is None:
            return
        entry = lore[place]
        comment = _filled(run, name, entry.comment)
        keys = _filled(run, key, entry.key)
        text = _filled(run, content, entry.content)
        order = to_number(_filled(run, insert_order, number_to_string(entry.insert_order or _USUAL_ORDER)))
        run.shared.budget.write(len(comment) + len(keys) + len(text))
        lore[place] = entry.with_(
            comment=comment, key=keys, content=text, insert_order=entry.insert_order if math.isnan(order) else order
        )
        _write(run, lore)

    return act


def _filled(run: TriggerRun, operand: Operand, old: str) -> str:
    """The new text, with the old one where it says `{{slot}}`."""
    return literal.replace_all(run, run.text(operand), _SLOT, old)


@pack.effect("v2DeleteLorebookByIndex")
def delete(fields: EffectFields) -> Action:
    index = fields.operand("index")

    def act(run: TriggerRun) -> None:
        lore = list(run.character.lore)
        place = place_in(lore, run.number(index))
        if place is not None:
            del lore[place]
            _write(run, lore)

    return act


@pack.effect("v2SetLorebookAlwaysActive")
def set_always_active(fields: EffectFields) -> Action:
    index, value = fields.operand("index"), fields.flag("value")

    def act(run: TriggerRun) -> None:
        lore = list(run.character.lore)
        place = place_in(lore, run.number(index))
        if place is not None:
            lore[place] = lore[place].with_(always_active=value)
            _write(run, lore)

    return act
