"""Every effect by its name, in packs by topic."""

from __future__ import annotations

from tavernkit.risuai.triggers.effects import (
    application,
    arrays,
    character,
    chat,
    control,
    dicts,
    lorebook,
    state,
    strings,
    variables,
)
from tavernkit.risuai.triggers.effects.pack import Action, Builder, Jump
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import TriggerRun

__all__ = ["EFFECTS", "Action", "Jump", "build_action"]

_PACKS = (application, arrays, character, chat, control, dicts, lorebook, state, strings, variables)

EFFECTS: dict[str, Builder] = {name: builder for topic in _PACKS for name, builder in topic.pack.builders.items()}


def build_action(fields: EffectFields, jump: Jump) -> Action:
    """What the effect does; one that is not known is passed over, with a warning."""
    builder = EFFECTS.get(fields.type)
    return _unknown(fields.type) if builder is None else builder(fields, jump)


def _unknown(type: str) -> Action:
    def act(run: TriggerRun) -> None:
        run.shared.warn("trigger_effect_unknown", f"There is no trigger effect {type!r}; it was passed over.")

    return act
