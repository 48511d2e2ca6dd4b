"""What an artifact holds: a text, Markdown, or any JSON value, checked once when it comes in, and its versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import isfinite
from typing import Literal, TypeAlias

from tavernkit.errors import InvalidArtifactError, ParseError
from tavernkit.reading import MAX_JSON_DEPTH, kind_of, parse_json
from tavernkit.values import Value

ContentType: TypeAlias = Literal["text", "json", "markdown"]

_LEAVES = (str, int, bool, type(None))
_GLANCE = 20
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def write_json(value: object) -> str:
    """JSON that always comes out the same: compact, keys sorted, letters as they are; no NaN and no infinities."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArtifactError(f"The content of an artifact is not JSON: {error}.") from None


def check_content(content: object, content_type: ContentType) -> object:
    """The content, if it is of its type; else InvalidArtifactError. JSON is no deeper than it could be read again."""
    if content_type == "json":
        if not _is_plain(content):
            _check_shape(content)
            write_json(content)
    elif not isinstance(content, str):
        raise InvalidArtifactError(f"An artifact of type {content_type} holds text, not {kind_of(content)}.")
    return content


def _is_plain(value: object, depth: int = 0) -> bool:
    """Whether something is seen at a glance to be JSON; if not, it may still be."""
    kind = type(value)
    if kind in _LEAVES:
        return True
    if isinstance(value, float):
        return kind is float and isfinite(value)
    if depth == _GLANCE:
        return False
    if kind is dict and isinstance(value, dict):
        return all(
            type(key) is str and (type(each) in _LEAVES or _is_plain(each, depth + 1)) for key, each in value.items()
        )
    if kind is list and isinstance(value, list):
        return all(type(each) in _LEAVES or _is_plain(each, depth + 1) for each in value)
    return False


def _check_shape(content: object) -> None:
    level = [content]
    for _ in range(MAX_JSON_DEPTH + 1):
        if any(not isinstance(key, str) for value in level if isinstance(value, Mapping) for key in value):
            raise InvalidArtifactError("The content of an artifact is not JSON: the keys of an object are texts.")
        level = [each for value in level for each in inner_values(value)]
        if not level:
            return
    raise InvalidArtifactError(f"The content of an artifact is nested more than {MAX_JSON_DEPTH} levels deep.")


def inner_values(value: object) -> Iterable[object]:
    """What a list or an object holds; nothing for any other value."""
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def parse_content(text: str, content_type: ContentType) -> object:
    """What a model or a template wrote, as content of that type: JSON becomes values, never a text that holds JSON."""
    if content_type != "json":
        return text
    try:
        return check_content(parse_json(text, what="The content of a JSON artifact"), "json")
    except ParseError as error:
        raise InvalidArtifactError(str(error)) from None


class Writer(Value, frozen=True, kw_only=True):
    """The pipeline and the step that wrote."""

    pipeline: str
    step: str = ""


class ArtifactVersion(Value, frozen=True, kw_only=True):
    """`turn` counts the user's turns, not regenerations. `turn_id` names the turn that made this version, and
    `variant_id` the swipe of its reply, so that another swipe can be read without it."""

    version: int
    content: object
    created_at: datetime
    content_type: ContentType = "text"
    based_on_version: int | None = None
    turn: int = 0
    turn_id: str | None = None
    variant_id: str | None = None
    writer: Writer | None = None

    def __post_init__(self) -> None:
        if self.version < 1:
            raise InvalidArtifactError(f"Versions are counted from 1, and this one is {self.version}.")
        if self.created_at.tzinfo is None:
            raise InvalidArtifactError("The time of a version must have a time zone.")
        check_content(self.content, self.content_type)
