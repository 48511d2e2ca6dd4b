"""The state of a story, and what one swipe of a message changes in it.

The state is a flat mapping: `variables.gold`, `lore_timers.…`. A swipe keeps its change as a delta,
`{"set": {key: value}, "unset": [key]}`. The state behind a message is the fold of the deltas up to it, so that after
choosing another swipe, hiding a message or going down a branch it is right without anybody repairing anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from tavernkit.values import Json, JsonObject

State: TypeAlias = dict[str, Json]
Delta: TypeAlias = JsonObject


def changes_in(delta: Delta | None) -> tuple[State, list[str]]:
    """What a delta sets and what it unsets."""
    put, gone = (delta or {}).get("set"), (delta or {}).get("unset")
    return (put if isinstance(put, dict) else {}), (gone if isinstance(gone, list) else [])


def apply(state: State, delta: Delta | None) -> None:
    """Change the state as the delta says; a key is never both set and unset."""
    if not delta:
        return
    put, gone = changes_in(delta)
    for key in gone:
        state.pop(key, None)
    state.update(put)


def fold(state: JsonObject, deltas: Iterable[Delta | None]) -> State:
    """The state behind all of these, one after the other."""
    folded = dict(state)
    for delta in deltas:
        apply(folded, delta)
    return folded


def changed_delta(delta: Delta | None, *, set: Mapping[str, Json], unset: Iterable[str]) -> dict[str, Json] | None:
    """One delta that does what this one does, and then sets and unsets; None when that is nothing."""
    before, unset_before = changes_in(delta)
    values, gone = dict(before), dict.fromkeys(unset_before)
    for key in unset:
        values.pop(key, None)
        gone[key] = None
    for key, value in set.items():
        gone.pop(key, None)
        values[key] = value
    return {"set": values, "unset": list(gone)} if values or gone else None
