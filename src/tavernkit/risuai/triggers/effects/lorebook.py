"""The character's lorebook.

The older effects look for entries as if each were a list of name, text and switch, which it no longer is in RisuAI
itself: they find nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tavernkit.risuai.arrays import place_in
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.text.js_numbers import number_to_string, to_number

pack = EffectPack()

_NONE = "null"
_SLOT = "{{slot}}"
_USUAL_ORDER = 100
_OLD_SWITCH = "2"


@pack.action("v2ModifyLorebook", reads=("target", "value"))
def modify_old(run: TriggerRun, _target: str, _value: str) -> None:
    if run.scene.character is not None:
        run.scene.character = run.scene.character.with_(lore=run.character.lore)


@pack.answer("v2GetLorebook", reads=("target",))
@pack.answer("v2GetLorebookEntry", reads=("index",))
def get_old(_run: TriggerRun, _wanted: str) -> str:
    return _NONE


@pack.answer("v2GetLorebookIndexViaName", reads=("name",))
def index_old(_run: TriggerRun, _name: str) -> str:
    return "-1"


@pack.effect("v2SetLorebookActivation")
def activate_old(fields: EffectFields) -> Action:
    index, value = fields.operand("index"), fields.raw("value")

    def act(run: TriggerRun) -> None:
        if not _change(run, run.text(index), lambda entry: entry.with_(written={**entry.written, _OLD_SWITCH: value})):
            raise ThrownError("The lorebook has no entry at that position.")

    return act


def _change(run: TriggerRun, index: str, change: Callable[[LoreEntry], LoreEntry | None]) -> bool:
    """Change the entry at a place, or take it out; gives whether there is one."""
    lore = run.character.lore
    place = place_in(lore, to_number(index))
    if place is None:
        return False
    changed = change(lore[place])
    kept = () if changed is None else (changed,)
    run.change_character(run.character.with_(lore=(*lore[:place], *kept, *lore[place + 1 :])))
    return True


@pack.answer("v2GetLorebookCount", "v2GetLorebookCountNew")
def count(run: TriggerRun) -> str:
    return str(len(run.character.lore))


@pack.answer("v2GetAllLorebooks")
def contents(run: TriggerRun) -> str:
    return run.to_json([entry.content for entry in run.character.lore])


@pack.answer("v2GetLorebookByName", reads=("name",))
def find_by_name(run: TriggerRun, name: str) -> str:
    pattern = run.regex(name, "i")
    return run.to_json([place for place, entry in enumerate(run.character.lore) if run.test(pattern, entry.comment)])


@pack.answer("v2GetLorebookByIndex", reads=("index",))
def content_at(run: TriggerRun, index: str) -> str:
    place = place_in(run.character.lore, to_number(index))
    return _NONE if place is None else run.character.lore[place].content


@pack.action("v2CreateLorebook", reads=("name", "key", "content", "insertOrder"))
def create(run: TriggerRun, name: str, keys: str, content: str, insert_order: str) -> None:
    order = to_number(insert_order)
    lore = run.character.lore
    run.shared.budget.step(100 * len(lore))
    run.shared.budget.write(len(name) + len(keys) + len(content))
    entry = LoreEntry(
        key=keys, comment=name, content=content, insert_order=_USUAL_ORDER if math.isnan(order) else order
    )
    run.change_character(run.character.with_(lore=(*lore, entry)))


@pack.effect("v2ModifyLorebookByIndex")
def modify(fields: EffectFields) -> Action:
    index, name, key = fields.operand("index"), fields.operand("name"), fields.operand("key")
    content, insert_order = fields.operand("content"), fields.operand("insertOrder")

    def act(run: TriggerRun) -> None:
        def change(entry: LoreEntry) -> LoreEntry:
            comment = _filled(run, name, entry.comment)
            keys = _filled(run, key, entry.key)
            text = _filled(run, content, entry.content)
            order = to_number(_filled(run, insert_order, number_to_string(entry.insert_order or _USUAL_ORDER)))
            run.shared.budget.write(len(comment) + len(keys) + len(text))
            return entry.with_(
                comment=comment, key=keys, content=text, insert_order=entry.insert_order if math.isnan(order) else order
            )

        _change(run, run.text(index), change)

    return act


def _filled(run: TriggerRun, operand: Operand, old: str) -> str:
    """The new text, with the old one where it says `{{slot}}`."""
    return run.replace(run.text(operand), _SLOT, old)


@pack.action("v2DeleteLorebookByIndex", reads=("index",))
def delete(run: TriggerRun, index: str) -> None:
    _change(run, index, lambda _: None)


@pack.effect("v2SetLorebookAlwaysActive")
def set_always_active(fields: EffectFields) -> Action:
    index, value = fields.operand("index"), fields.flag("value")

    def act(run: TriggerRun) -> None:
        _change(run, run.text(index), lambda entry: entry.with_(always_active=value))

    return act
