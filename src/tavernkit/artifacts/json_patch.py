"""JSON patches (RFC 6902): what changed between two values, and applying such a list of changes."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tavernkit.artifacts.content import inner_values
from tavernkit.errors import JsonPatchError

JsonPath: TypeAlias = tuple[str, ...]

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_MOST_VALUES = 100_000
"""That one patch may copy and compare: a handful of copies, each of everything, would fill any memory."""


def same_json(one: object, other: object) -> bool:
    """Whether two values are the same JSON; True is not 1 there, but 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def make_patch(before: object, after: object) -> list[Mapping[str, object]]:
    """The operations add, remove and replace that turn the one into the other; keys in sorted order."""
    return list(_changes(before, after, ()))


def _changes(before: object, after: object, path: JsonPath) -> Iterator[Mapping[str, object]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            if key not in after:
                yield {"op": "remove", "path": _pointer((*path, key))}
            elif key not in before:
                yield {"op": "add", "path": _pointer((*path, key)), "value": after[key]}
            else:
                yield from _changes(before[key], after[key], (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    elif not same_json(before, after):
        yield {"op": "replace", "path": _pointer(path), "value": after}


def _list_changes(before: list[object], after: list[object], path: JsonPath) -> Iterator[Mapping[str, object]]:
    """What stands alike at both ends stays; between them items change in pairs, and the rest comes or goes."""
    start = 0
    while start < min(len(before), len(after)) and same_json(before[start], after[start]):
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and same_json(before[-1 - end], after[-1 - end]):
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    paired = min(len(old), len(new))
    for place in range(paired):
        yield from _changes(old[place], new[place], (*path, str(start + place)))
    for place in range(len(old) - 1, paired - 1, -1):
        yield {"op": "remove", "path": _pointer((*path, str(start + place)))}
    for place in range(paired, len(new)):
        yield {"op": "add", "path": _pointer((*path, str(start + place))), "value": new[place]}


def apply_patch(document: object, patch: Iterable[Mapping[str, object]]) -> object:
    """The document after all operations; JsonPatchError says which one could not be done, and nothing is changed."""
    try:
        return _apply_all(copy.deepcopy(document), patch)
    except RecursionError:
        raise JsonPatchError("This JSON, or the patch, is nested too deeply to be changed.") from None


def _apply_all(document: object, patch: Iterable[Mapping[str, object]]) -> object:
    left = _MOST_VALUES
    for number, operation in enumerate(patch):
        try:
            left -= _cost(document, operation, left)
            document = _apply(document, operation)
        except _Unfit as problem:
            raise JsonPatchError(f"Operation {number} of the JSON patch cannot be done: {problem}") from None
    return document


def _cost(document: object, operation: Mapping[str, object], left: int) -> int:
    """How many values an operation copies or compares that are not its own."""
    if not isinstance(operation, Mapping) or operation.get("op") not in ("copy", "test"):
        return 0
    count, level = 0, [_get(document, _path(operation, "from" if operation["op"] == "copy" else "path"))]
    while level and count <= left:
        count += len(level)
        level = [each for value in level for each in inner_values(value)]
    if count > left:
        raise _Unfit(f"with it, more than {_MOST_VALUES:,} values would be copied and compared.")
    return count


def find_in_json(document: object, pointer: str) -> object:
    """What a JSON pointer (RFC 6901) finds, the whole for an empty one; JsonPatchError if nothing is there."""
    try:
        return _get(document, _path({"pointer": pointer}, "pointer"))
    except _Unfit as problem:
        raise JsonPatchError(f"Nothing can be taken from this JSON: {problem}") from None


class _Unfit(Exception):  # noqa: N818 - never leaves this module
    pass


def _apply(document: object, operation: Mapping[str, object]) -> object:
    if not isinstance(operation, Mapping):
        raise _Unfit("it is not an object.")
    path = _path(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, _value(operation))
        case "remove":
            return _remove(document, path)[0]
        case "replace":
            return _add(_remove(document, path)[0], path, _value(operation)) if path else _value(operation)
        case "move":
            origin = _path(operation, "from")
            if path[: len(origin)] == origin and path != origin:
                raise _Unfit("a value cannot be moved into itself.")
            rest, value = _remove(document, origin)
            return _add(rest, path, value)
        case "copy":
            return _add(document, path, copy.deepcopy(_get(document, _path(operation, "from"))))
        case "test":
            if not same_json(_get(document, path), _value(operation)):
                raise _Unfit(f"the value at {_pointer(path)!r} is another one.")
            return document
        case other:
            raise _Unfit(f"there is no operation {other[:40]!r}." if isinstance(other, str) else "it has no 'op'.")


def _value(operation: Mapping[str, object]) -> object:
    if "value" not in operation:
        raise _Unfit("it has no value.")
    return copy.deepcopy(operation["value"])


def _path(operation: Mapping[str, object], field: str) -> JsonPath:
    pointer = operation.get(field)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _Unfit(f"its {field!r} is not a JSON pointer.")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _pointer(path: JsonPath) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def _get(document: object, path: JsonPath) -> object:
    for depth, part in enumerate(path):
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and _INDEX.fullmatch(part) and int(part) < len(document):
            document = document[int(part)]
        else:
            raise _Unfit(f"there is nothing at {_pointer(path[: depth + 1])!r}.")
    return document


def _add(document: object, path: JsonPath, value: object) -> object:
    if not path:
        return value
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and last == "-":
        parent.append(value)
    elif isinstance(parent, list) and _INDEX.fullmatch(last) and int(last) <= len(parent):
        parent.insert(int(last), value)
    else:
        raise _Unfit(f"nothing can be put at {_pointer(path)!r}.")
    return document


def _remove(document: object, path: JsonPath) -> tuple[object, object]:
    value = _get(document, path)
    if not path:
        return None, value
    parent = _get(document, path[:-1])
    if isinstance(parent, dict):
        del parent[path[-1]]
    elif isinstance(parent, list):
        del parent[int(path[-1])]
    return document, value


def merge_patch(target: object, patch: object) -> object:
    """The target as the patch makes it; neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
