"""What goes in the place of a match: literal text, groups, and the leaks that scripts have come to rely on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from tavernkit.text.js_regex import JsCut
from tavernkit.values import Value

_WHOLE_MATCH = re.compile(r"\{\{match\}\}", re.IGNORECASE | re.ASCII)
_GROUP = re.compile(r"\$([0-9]+)|\$<([^>]+)>")
_MOST_DIGITS = 6  # more groups than that no pattern has


class GroupNumber(Value, frozen=True, kw_only=True):
    """`$1`; 0 is the whole match, None a number that no group can have."""

    number: int | None


class GroupName(Value, frozen=True, kw_only=True):
    """`$<name>`."""

    name: str


ReplacementPart = str | GroupNumber | GroupName


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
        yield GroupName(name=name) if digits is None else GroupNumber(number=_number(digits))
        end = match.end()
    if end < len(replace):
        yield replace[end:]


def _number(digits: str) -> int | None:
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= _MOST_DIGITS else None


def fill(parts: tuple[ReplacementPart, ...], cut: JsCut, text: str, trim: Callable[[str], str]) -> Iterator[str]:
    """The parts with the groups of one match of the text in their places; `trim` is done to what a group took."""
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        found = _numbered(part.number, cut, text) if isinstance(part, GroupNumber) else (cut.named or {}).get(part.name)
        if found:
            yield trim(found)


def _numbered(number: int | None, cut: JsCut, text: str) -> str | None:
    """A group; the numbers after the last one give the offset, if it is not 0, and the whole text."""
    if number is None:
        return None
    if number < len(cut.groups):
        return cut.groups[number]
    if number == len(cut.groups):
        return str(cut.start) if cut.start else None
    return text if number == len(cut.groups) + 1 else None
