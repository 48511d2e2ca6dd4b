"""JSON Schema: whether a schema is one, and what is wrong with a value. Nothing is ever fetched.

A few definitions that refer to each other can ask for more work than any machine does, and whoever does the work cannot
be stopped. So it is counted first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from urllib.parse import unquote

import jsonschema_rs

from tavernkit.artifacts.content import inner_values
from tavernkit.artifacts.json_patch import find_in_json
from tavernkit.errors import JsonPatchError, StepFailed
from tavernkit.values import Value

_MOST_COMPARISONS = 20_000
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")
_SAME_ONE = ("not", "if", "then", "else")
_SAME_LIST = ("allOf", "anyOf", "oneOf")
_SAME_MAP = ("dependentSchemas", "dependencies")
_OF_OBJECT = ("additionalProperties", "unevaluatedProperties")
_OF_LIST = ("items", "additionalItems", "unevaluatedItems", "contains")


def check_references(schema: Mapping[str, object]) -> None:
    """Raise StepFailed unless all references are pointers into this very schema."""
    waiting: list[object] = [schema]
    while waiting:
        part = waiting.pop()
        waiting.extend(inner_values(part))
        if not isinstance(part, Mapping):
            continue
        reference = part.get("$ref")
        is_foreign = isinstance(reference, str) and not (reference == "#" or reference.startswith("#/"))
        if is_foreign or any(isinstance(part.get(name), str) for name in _ELSEWHERE):
            raise _unusable("a reference is written as #/$defs/name, and leads to a part of the schema itself")
        if part is not schema and isinstance(part.get("$id"), str):
            raise _unusable("a part of it has its own $id, so its references are ambiguous")


def check_cost(value: object, schema: Mapping[str, object]) -> None:
    """Raise StepFailed if more would be compared than is good for anybody; every part that may apply is counted."""
    going: list[Iterator[tuple[object, object]]] = [iter([(schema, value)])]
    count = 0
    while going:
        pair = next(going[-1], None)
        if pair is None:
            going.pop()
            continue
        count += 1
        if count > _MOST_COMPARISONS:
            raise StepFailed(
                "To check this JSON against its schema would take too long. Make the schema simpler.",
                code="schema_too_costly",
            )
        part, against = pair
        if isinstance(part, Mapping):
            going.append(_below(part, against, schema))


def _below(part: Mapping[str, object], value: object, schema: Mapping[str, object]) -> Iterator[tuple[object, object]]:
    """What a part of the schema applies next, and to what."""
    yield from ((each, value) for each in _for_itself(part, schema))
    if isinstance(value, dict):
        yield from _for_members(part, value)
    elif isinstance(value, list):
        yield from _for_items(part, value)


def _for_itself(part: Mapping[str, object], schema: Mapping[str, object]) -> Iterator[object]:
    """The parts of a schema that apply to the same value."""
    reference = part.get("$ref")
    if isinstance(reference, str):
        try:
            yield find_in_json(schema, unquote(reference.removeprefix("#")))
        except JsonPatchError:
            raise _unusable("a reference leads nowhere") from None
    yield from (part[name] for name in _SAME_ONE if name in part)
    for name in _SAME_LIST:
        yield from inner_values(part.get(name))
    for name in _SAME_MAP:
        yield from (each for each in inner_values(part.get(name)) if isinstance(each, Mapping))


def _for_members(part: Mapping[str, object], members: dict[str, object]) -> Iterator[tuple[object, object]]:
    named = part.get("properties")
    if isinstance(named, Mapping):
        fewer: Mapping[str, object] = min(named, members, key=len)
        yield from ((named[key], members[key]) for key in fewer if key in named and key in members)
    for value in members.values():
        yield from ((each, value) for each in inner_values(part.get("patternProperties")))
        yield from ((part[name], value) for name in _OF_OBJECT if name in part)
    if "propertyNames" in part:
        yield from ((part["propertyNames"], key) for key in members)


def _for_items(part: Mapping[str, object], items: list[object]) -> Iterator[tuple[object, object]]:
    for name in ("prefixItems", "items"):
        listed = part.get(name)
        if isinstance(listed, list):
            yield from zip(listed, items, strict=False)
    for name in _OF_LIST:
        if name in part and not isinstance(part[name], list):
            yield from ((part[name], item) for item in items)


def _unusable(reason: str) -> StepFailed:
    return StepFailed(f"This JSON Schema cannot be used: {reason}.", code="schema_invalid")


_MOST_PROBLEMS = 8
_LONGEST = 200
_MASK = "the value"


class Misfit(Value, frozen=True, kw_only=True):
    """One thing that is wrong with a value: a sentence for whoever made the value, which may name its keys, and a few
    words for people, who may not be meant to see anything of it."""

    sentence: str
    summary: str


def check_schema(schema: Mapping[str, object]) -> None:
    """Raise StepFailed unless this is a JSON Schema that needs nothing from elsewhere."""
    check_references(schema)
    _validator(schema)


def misfits(value: object, schema: Mapping[str, object]) -> tuple[Misfit, ...]:
    """What is wrong with a value; nothing if it fits."""
    check_references(schema)
    check_cost(value, schema)
    try:
        return tuple(islice(_misfits(value, schema), _MOST_PROBLEMS))
    except UnicodeEncodeError:
        half = "it holds half of a character (a lone surrogate)"
        return (Misfit(sentence=f"There is a mistake: {half}.", summary=half),)


def _misfits(value: object, schema: Mapping[str, object]) -> Iterator[Misfit]:
    for problem in _validator(schema).iter_errors(value):
        sentence = f"At {_place(problem.instance_path)}: {problem.message[:_LONGEST]}."
        yield Misfit(sentence=sentence, summary=f"{_place(problem.schema_path)} of the schema is not kept")


def _place(path: Iterable[str | int]) -> str:
    return ("".join(f"/{part}" for part in path) or "/")[:_LONGEST]


def _validator(schema: Mapping[str, object]) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(dict(schema), mask=_MASK, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
        raise StepFailed(f"This JSON Schema cannot be used: {reason}.", code="schema_invalid") from None
