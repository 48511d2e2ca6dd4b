"""Finding the JSON in what a model has said: all of it, in a fence, or between words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tavernkit.artifacts.content import parse_content
from tavernkit.errors import InvalidArtifactError
from tavernkit.values import Json

__all__ = ["find_json"]

_FENCE = re.compile(r"```[A-Za-z]*\s*\n(.*?)```", re.DOTALL)


def find_json(answer: str) -> Json:
    """The value in an answer; InvalidArtifactError, about the answer as a whole, if there is none."""
    for text in _places(answer):
        try:
            return parse_content(text, "json")
        except InvalidArtifactError:
            continue
    return parse_content(answer, "json")


def _places(answer: str) -> Iterator[str]:
    yield answer.strip()
    fence = _FENCE.search(answer)
    if fence:
        yield fence[1]
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = answer.find(opening), answer.rfind(closing)
        if 0 <= start < end:
            yield answer[start : end + 1]
