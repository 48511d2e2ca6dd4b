"""Every effect by its name, in packs by topic."""

from __future__ import annotations

from tavernkit.risuai.triggers.effects import (
    application,
    arrays,
    chat,
    control,
    dicts,
    lorebook,
    state,
    strings,
    variables,
)
from tavernkit.risuai.triggers.effects.pack import Action, Builder
from tavernkit.risuai.triggers.operand import EffectFields

__all__ = ["EFFECTS", "Action", "build_action"]

_PACKS = (application, arrays, chat, control, dicts, lorebook, state, strings, variables)

EFFECTS: dict[str, Builder] = {name: builder for topic in _PACKS for name, builder in topic.pack.builders.items()}


def build_action(fields: EffectFields) -> Action:
    """What the effect does; one that is not known is passed over, with a warning."""
    builder = EFFECTS.get(fields.type)
    if builder is not None:
        return builder(fields)
    message = f"There is no trigger effect {fields.type!r}; it was passed over."
    return lambda run: run.shared.warn("trigger_effect_unknown", message)
