"""Where the characters of a text come from that a script has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tavernkit.prompt.parts import TracedText, joined
from tavernkit.prompt.sources import FromRegex
from tavernkit.prompt.tracing import passed, realigned, source_at, traced
from tavernkit.text.js_regex import JsCut

_PATTERN = re.compile(r"\$(?:([$&])|([0-9]{1,2})|<([^>]*)>)")


def replaced(text: TracedText, changed: str, cuts: Sequence[JsCut], replacement: str, step: FromRegex) -> str:
    """The changed text: what stood between the matches and what groups have taken of them keep their sources.

    Where that does not come to the same as what JavaScript has made of it, what stands in both does.
    """
    pieces: list[str] = []
    at = 0
    for cut in cuts:
        match = cut.groups[0] or ""
        start = at + len(cut.before)
        here = step.with_(inside=source_at(text, start))
        pieces.append(text[at:start])
        pieces += _written(text[start : start + len(match)], cut, replacement, here)
        at = start + len(match)
    whole = joined("", (*pieces, text[at:]))
    return whole if whole == changed else realigned(text, changed, step)


def _written(match: str, cut: JsCut, replacement: str, step: FromRegex) -> Iterator[str]:
    end = 0
    for found in _PATTERN.finditer(replacement):
        yield traced(replacement[end : found.start()], step)
        end = found.end()
        special, number, name = found.groups()
        if special == "$":
            yield traced("$", step)
            continue
        group = match if special else _group(cut, number, name)
        if group is None:
            yield traced(found[0], step)
        elif group:
            place = match.find(group) if match.count(group) == 1 else -1
            yield passed(match[place : place + len(group)], step) if place >= 0 else traced(group, step)
    yield traced(replacement[end:], step)


def _group(cut: JsCut, number: str | None, name: str | None) -> str | None:
    """What a group has taken, nothing where it took no part; None where there is no such group."""
    if number is None:
        return None if cut.named is None else cut.named.get(name or "") or ""
    place = int(number)
    return (cut.groups[place] or "") if 0 < place < len(cut.groups) else None
