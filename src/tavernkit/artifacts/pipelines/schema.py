"""JSON Schema: whether a schema is one, and what is wrong with a value. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import jsonschema_rs

from tavernkit.errors import StepFailed
from tavernkit.values import Json, JsonObject

__all__ = ["check_schema", "schema_problems"]

_MOST_PROBLEMS = 8
_MASK = "the value"  # so that no sentence quotes what a model has said, which people may not be meant to see


def check_schema(schema: JsonObject) -> None:
    """Raise StepFailed unless this is a JSON Schema that needs nothing from elsewhere."""
    _validator(schema)


def schema_problems(value: Json, schema: JsonObject) -> tuple[str, ...]:
    """What is wrong with a value, in sentences that name the place and not the content; none if it fits."""
    return tuple(islice(_sentences(value, schema), _MOST_PROBLEMS))


def _sentences(value: Json, schema: JsonObject) -> Iterator[str]:
    for problem in _validator(schema).iter_errors(value):
        place = "".join(f"/{part}" for part in problem.instance_path) or "/"
        yield f"At {place}: {problem.message}."


def _validator(schema: JsonObject) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(dict(schema), mask=_MASK, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
        raise StepFailed(f"This is no JSON Schema that can be used: {reason}.", code="schema_invalid") from None
