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


def apply(state: State, delta: Delta | None) -> None:
    """Change the state as the delta says; a key is never both set and unset."""
    if not delta:
        return
    for key in delta.get("unset", ()):
        state.pop(key, None)
    state.update(delta.get("set", {}))


def fold(state: JsonObject, deltas: Iterable[Delta | None]) -> State:
    """The state behind all of these, one after the other."""
    folded = dict(state)
    for delta in deltas:
        apply(folded, delta)
    return folded


def changed_delta(delta: Delta | None, *, set: Mapping[str, Json], unset: Iterable[str]) -> dict[str, Json] | None:
    """One delta that does what this one does, and then sets and unsets; None when that is nothing."""
    values: State = dict(delta.get("set", {})) if delta else {}
    gone = dict.fromkeys(delta.get("unset", ()) if delta else ())
    for key in unset:
        values.pop(key, None)
        gone[key] = None
    for key, value in set.items():
        gone.pop(key, None)
        values[key] = value
    return {"set": values, "unset": list(gone)} if values or gone else None
