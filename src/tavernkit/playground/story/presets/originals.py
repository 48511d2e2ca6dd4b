"""A preset beside the file that it was imported from: what differs, and how one difference is taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.values import Json, JsonObject, Value

Path: TypeAlias = tuple[str, ...]
"""Names of fields; an item of a list is named by its identifier, or else by its place."""

MAX_DIFFERENCES = 500
MAX_DEPTH = 4
KEYS: Mapping[str, str] = {"prompts": "identifier", "prompt_order": "character_id"}
"""Lists whose items have names of their own."""
BY_PLACE = frozenset({"promptTemplate"})
"""Lists that are compared item by item where they are equally long."""


class Difference(Value, frozen=True, kw_only=True):
    """A field that is not as it was imported; `is_new` and `is_gone` say where there is no value to compare."""

    path: Path
    now: Json = None
    before: Json = None
    is_new: bool = False
    is_gone: bool = False


def differences(now: JsonObject, before: JsonObject) -> list[Difference]:
    """What of a preset is not as it was imported, in the order of the file; the first of very many."""
    found: list[Difference] = []
    for difference in _differences(now, before, ()):
        if len(found) == MAX_DIFFERENCES:
            break
        found.append(difference)
    return found


def restored(now: JsonObject, before: JsonObject, path: Sequence[str]) -> dict[str, Json]:
    """The preset with one field as it was imported."""
    if not any(difference.path == tuple(path) for difference in _differences(now, before, ())):
        existing(None, _("difference"))
    written = _restored(now, before, tuple(path), ())
    return dict(written) if isinstance(written, Mapping) else {}


def _differences(now: Json, before: Json, path: Path) -> Iterator[Difference]:
    ours, theirs = _parts(now, path), _parts(before, path)
    if ours is None or theirs is None or len(path) >= MAX_DEPTH or not _can_pair(now, before, path):
        if now != before or isinstance(now, bool) is not isinstance(before, bool):
            yield Difference(path=path, now=now, before=before)
        return
    for name in dict.fromkeys((*theirs, *ours)):
        inner = (*path, name)
        if name not in theirs:
            yield Difference(path=inner, now=ours[name], is_new=True)
        elif name not in ours:
            yield Difference(path=inner, before=theirs[name], is_gone=True)
        else:
            yield from _differences(ours[name], theirs[name], inner)


def _restored(now: Json, before: Json, path: Path, above: Path) -> Json:
    if not path:
        return before
    ours, theirs = _parts(now, above) or {}, _parts(before, above) or {}
    name, *inner = path
    parts = dict(ours)
    if name not in theirs:
        del parts[name]
    elif name not in ours:
        parts[name] = theirs[name]
    else:
        parts[name] = _restored(ours[name], theirs[name], tuple(inner), (*above, name))
    return parts if isinstance(now, Mapping) else list(parts.values())


def _parts(value: Json, path: Path) -> dict[str, Json] | None:
    """The fields of an object, or the items of a list by their names; None for what is compared as a whole."""
    if isinstance(value, Mapping):
        return dict(value)
    name = path[-1] if path else ""
    if not isinstance(value, list) or name not in {*KEYS, *BY_PLACE}:
        return None
    if name in BY_PLACE:
        return {str(place): item for place, item in enumerate(value)}
    named: dict[str, Json] = {str(item.get(KEYS[name], "")): item for item in value if isinstance(item, Mapping)}
    return named if len(named) == len(value) else None


def _can_pair(now: Json, before: Json, path: Path) -> bool:
    """Whether both are of one kind; lists that go by place must be equally long."""
    if isinstance(now, list) and isinstance(before, list):
        return path[-1] not in BY_PLACE or len(now) == len(before)
    return isinstance(now, list) is isinstance(before, list)
