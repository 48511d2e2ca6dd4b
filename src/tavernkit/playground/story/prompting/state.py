"""The state of a path as a prompt reads it, and what a prompt has changed in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tavernkit import TimedEffect, TimedState, Variables
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.paths.global_variables import GlobalChanges
from tavernkit.playground.story.paths.state import State, changed_delta
from tavernkit.playground.story.paths.variables import (
    MAX_NAME_CHARACTERS,
    MAX_VALUE_CHARACTERS,
    MAX_VARIABLES,
    VARIABLES,
)
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json

LORE_TIMERS = "lore_timers."
_STICKY = f"{LORE_TIMERS}sticky."
_COOLDOWN = f"{LORE_TIMERS}cooldown."


def variables_in(state: State, global_variables: Mapping[str, Json]) -> Variables:
    """The variables, in a store of the prompt's own: what macros write is kept only with the reply."""
    return Variables(dict(_below(VARIABLES, state)), global_variables)


def timers_in(state: State) -> TimedState:
    """Which lore stays or rests, and until when."""
    return TimedState(sticky=_effects(_STICKY, state), cooldown=_effects(_COOLDOWN, state))


def state_changes(state: State, variables: Mapping[str, Json], timed: TimedState | None) -> dict[str, Json] | None:
    """The delta from the state to what a prompt has made of it; None when that is the same.

    A variable that cannot be kept stays as it was. `timed` is None where no lore was looked for.
    """
    after = {VARIABLES + name: value for name, value in _storable_variables(variables)}
    changed = _changes(dict(_below(VARIABLES, state, whole=True)), after)
    delta = changed_delta(None, set=changed[0], unset=changed[1])
    if timed is not None:
        timers = {
            **{_STICKY + storable(name): _effect(effect) for name, effect in timed.sticky.items()},
            **{_COOLDOWN + storable(name): _effect(effect) for name, effect in timed.cooldown.items()},
        }
        put, gone = _changes(dict(_below(LORE_TIMERS, state, whole=True)), timers)
        delta = changed_delta(delta, set=put, unset=gone)
    return delta


def global_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> GlobalChanges:
    """What a prompt and its reply have changed in the global variables; one that cannot be kept stays as it was."""
    put, _ = _changes(before, dict(_storable_variables(after)))
    return GlobalChanges(set=put, unset=tuple(name for name in before if name not in after))


def _below(prefix: str, state: State, *, whole: bool = False) -> Iterator[tuple[str, Json]]:
    for key, value in state.items():
        if key.startswith(prefix):
            yield (key if whole else key.removeprefix(prefix)), value


def _changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    put = {key: value for key, value in after.items() if key not in before or before[key] != value}
    return put, [key for key in before if key not in after]


def _storable_variables(variables: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """As many variables as a story may have, of names and lengths that it may have."""
    kept = 0
    for name, value in variables.items():
        value = presentable(value)
        fits = len(json.dumps(value, ensure_ascii=False)) <= MAX_VALUE_CHARACTERS
        if fits and 0 < len(storable(name)) <= MAX_NAME_CHARACTERS and kept < MAX_VARIABLES:
            kept += 1
            yield storable(name), value


def _effects(prefix: str, state: State) -> dict[str, TimedEffect]:
    return {
        name: _read_effect(LooseObject(value, ReportBuilder()))
        for name, value in _below(prefix, state)
        if isinstance(value, dict)
    }


def _read_effect(source: LooseObject) -> TimedEffect:
    return TimedEffect(
        start=source.integer("start"),
        end=source.integer("end"),
        fingerprint=source.text("fingerprint"),
        protected=source.flag("protected"),
    )


def _effect(effect: TimedEffect) -> dict[str, Json]:
    return {
        "start": effect.start,
        "end": effect.end,
        "fingerprint": effect.fingerprint,
        "protected": effect.protected,
    }
