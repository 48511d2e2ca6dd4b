"""JSON Schema: whether a schema is one, and what is wrong with a value. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import jsonschema_rs

from tavernkit.artifacts.pipelines.schema_cost import check_cost, check_references
from tavernkit.errors import StepFailed
from tavernkit.values import Value

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
        raise StepFailed(f"This is no JSON Schema that can be used: {reason}.", code="schema_invalid") from None
