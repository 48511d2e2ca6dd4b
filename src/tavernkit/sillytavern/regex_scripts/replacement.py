"""What goes in the place of a match: literal text, groups, and the leaks that scripts have come to rely on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from tavernkit.text.js_regex import JsCut

_WHOLE_MATCH = re.compile(r"\{\{match\}\}", re.IGNORECASE | re.ASCII)
_GROUP = re.compile(r"\$([0-9]+)|\$<([^>]+)>")
_MOST_DIGITS = 6  # more groups than that no pattern has


class GroupName(NamedTuple):
    """`$<name>`."""

    name: str


ReplacementPart = str | int | GroupName
"""Literal text, the number of a group, which is 0 for the whole match, or its name."""


@lru_cache(maxsize=1024)
def replacement_parts(replace: str) -> tuple[ReplacementPart, ...]:
    """What a script has in its replace field, taken apart."""
    return tuple(_parts(_WHOLE_MATCH.sub("$0", replace)))


def _parts(replace: str) -> Iterator[ReplacementPart]:
    end = 0
    for match in _GROUP.finditer(replace):
        if match.start() > end:
            yield replace[end : match.start()]
        digits, name = match.groups()
        if digits is None:
            yield GroupName(name)
        elif len(significant := digits.lstrip("0")) <= _MOST_DIGITS:
            yield int(significant or 0)
        end = match.end()
    if end < len(replace):
        yield replace[end:]


def fill(parts: tuple[ReplacementPart, ...], cut: JsCut, text: str, trim: Callable[[str], str]) -> Iterator[str]:
    """The parts with the groups of one match of the text in their places; `trim` is done to what a group took."""
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        found = _numbered(part, cut, text) if isinstance(part, int) else (cut.named or {}).get(part.name)
        if found:
            yield trim(found)


def _numbered(number: int, cut: JsCut, text: str) -> str | None:
    """A group; the numbers after the last one give the offset, if it is not 0, and the whole text."""
    if number < len(cut.groups):
        return cut.groups[number]
    if number == len(cut.groups):
        return str(cut.start) if cut.start else None
    return text if number == len(cut.groups) + 1 else None
