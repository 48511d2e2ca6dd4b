"""A trigger of a character or module, as RisuAI stores it; `triggers` is where they run."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.reading import LooseObject
from tavernkit.values import JsonObject, Value


class Trigger(Value, frozen=True, kw_only=True):
    """When it runs (`type`, a mode such as `start`), if (`conditions`), and what it does (`effects`).

    Conditions and effects stay objects here: each kind has fields of its own. `written` is the whole as it was read.
    """

    type: str
    comment: str = ""
    conditions: tuple[JsonObject, ...] = ()
    effects: tuple[JsonObject, ...] = ()
    low_level_access: bool = False
    written: JsonObject = {}


def read_triggers(triggers: Iterable[LooseObject]) -> tuple[Trigger, ...]:
    """Read a list of triggers."""
    return tuple(
        Trigger(
            type=trigger.text("type"),
            comment=trigger.text("comment"),
            conditions=tuple(condition.source for condition in trigger.objects("conditions")),
            effects=tuple(effect.source for effect in trigger.objects("effect")),
            low_level_access=trigger.flag("lowLevelAccess"),
            written=dict(trigger.source),
        )
        for trigger in triggers
    )
