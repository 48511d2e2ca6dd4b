"""A trigger of a character or module, as RisuAI stores it; `triggers` is where they run."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.reading import LooseObject
from tavernkit.risuai.stored import StoredNoun
from tavernkit.values import Json, JsonObject


class Trigger(StoredNoun, frozen=True, kw_only=True):
    """When it runs (`type`, a mode such as `start`), if (`conditions`), and what it does (`effects`).

    Conditions and effects stay objects here: each kind has fields of its own. `written` is the whole as it was read.
    """

    SPELT = {"effects": "effect"}
    ALWAYS = ("comment", "type", "conditions", "effects")

    comment: str = ""
    type: str
    conditions: tuple[JsonObject, ...] = ()
    effects: tuple[JsonObject, ...] = ()
    low_level_access: bool = False


def read_triggers(triggers: Iterable[LooseObject]) -> tuple[Trigger, ...]:
    """Read a list of triggers."""
    return tuple(map(Trigger.read, triggers))


def write_trigger(trigger: Trigger) -> dict[str, Json]:
    """The trigger as RisuAI stores it."""
    return trigger.write()
