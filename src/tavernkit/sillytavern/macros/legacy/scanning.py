"""Finding calls the way the legacy engine's patterns do, in time that grows with the text and not with its square.

Each of these answers what a regular expression would: `{{name:` followed by "anything up to the first brace", "anything
up to the end of the line", and so on. Backtracking over a text full of openings would take minutes; here every search
for an end is remembered, because the positions it is asked for only grow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias


class LegacyCall(NamedTuple):
    """A call in a text: from `start` up to `end`, with what was captured from it."""

    start: int
    end: int
    arguments: tuple[str, ...] = ()


Finder: TypeAlias = Callable[[str], Iterator[LegacyCall]]
"""The calls of one kind, from left to right, none inside another."""

_BRACE = re.compile(r"\}")
_CLOSING = re.compile(r"\}\}")
_COLON = re.compile(":")
_DOUBLE_COLON = re.compile("::")
_LINE_END = re.compile("[\n\r\u2028\u2029]")  # where JavaScript's `.` stops
_TRIM = re.compile(r"\{\{trim\}\}", re.IGNORECASE | re.ASCII)


class _Ahead:
    """The first place at or after a position where a pattern matches; positions must not go back."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._found = -1

    def of(self, position: int) -> int:
        """Where it is; the text's length when it is nowhere."""
        if self._found < position:
            match = self._pattern.search(self._text, position)
            self._found = len(self._text) if match is None else match.start()
        return self._found


def find_exactly(pattern: re.Pattern[str]) -> Finder:
    """What the pattern matches and what its groups captured; for patterns that cannot backtrack."""

    def find(text: str) -> Iterator[LegacyCall]:
        for match in pattern.finditer(text):
            yield LegacyCall(match.start(), match.end(), match.groups())

    return find


def find_braced(opening: re.Pattern[str], *, at_least: int = 1) -> Finder:
    """A body without `}`, directly closed by `}}`."""

    def find(text: str) -> Iterator[LegacyCall]:
        brace = _Ahead(_BRACE, text)
        place = 0
        while match := opening.search(text, place):
            start, body = match.span()
            place = body
            end = brace.of(body)
            if end - body >= at_least and text.startswith("}}", end):
                place = end + 2
                yield LegacyCall(start, place, (text[body:end],))

    return find


def find_named_values(opening: re.Pattern[str], *, at_least: int) -> Finder:
    """A name without `:`, then `::`, then a value without `}`, directly closed by `}}`. The name may hold braces."""

    def find(text: str) -> Iterator[LegacyCall]:
        colon = _Ahead(_COLON, text)
        brace = _Ahead(_BRACE, text)
        place = 0
        while match := opening.search(text, place):
            start, body = match.span()
            place = body
            name_end = colon.of(body)
            if name_end == body or not text.startswith("::", name_end):
                continue
            value = name_end + 2
            end = brace.of(value)
            if end - value >= at_least and text.startswith("}}", end):
                place = end + 2
                yield LegacyCall(start, place, (text[body:name_end], text[value:end]))

    return find


def find_in_line(opening: re.Pattern[str]) -> Finder:
    """At least one character, up to the first `}}` behind it, all within one line."""

    def find(text: str) -> Iterator[LegacyCall]:
        line_end = _Ahead(_LINE_END, text)
        closing = _Ahead(_CLOSING, text)
        place = 0
        while match := opening.search(text, place):
            start, body = match.span()
            place = body
            end = closing.of(body + 1)
            if end < line_end.of(body):
                place = end + 2
                yield LegacyCall(start, place, (text[body:end],))

    return find


def find_pairs_in_line(opening: re.Pattern[str]) -> Finder:
    """Two values with the first `::` between them and the first `}}` after it, all within one line."""

    def find(text: str) -> Iterator[LegacyCall]:
        line_end = _Ahead(_LINE_END, text)
        separator = _Ahead(_DOUBLE_COLON, text)
        closing = _Ahead(_CLOSING, text)
        place = 0
        while match := opening.search(text, place):
            start, body = match.span()
            place = body
            middle = separator.of(body)
            if middle >= line_end.of(body):
                continue
            end = closing.of(middle + 2)
            if end < line_end.of(body):
                place = end + 2
                yield LegacyCall(start, place, (text[body:middle], text[middle + 2 : end]))

    return find


def find_quoted_in_line(opening: re.Pattern[str]) -> Finder:
    """Everything up to the last `"}}` of the line, so that several calls in a line are one."""

    def find(text: str) -> Iterator[LegacyCall]:
        line_end = _Ahead(_LINE_END, text)
        line, last = -1, -1
        place = 0
        while match := opening.search(text, place):
            start, body = match.span()
            place = body
            if line_end.of(body) != line:
                line = line_end.of(body)
                last = text.rfind('"}}', body, line)
            if last >= body:
                place = last + 3
                yield LegacyCall(start, place, (text[body:last],))

    return find


def find_comments(text: str) -> Iterator[LegacyCall]:
    """`{{//` up to the first `}}`, over as many lines as it takes."""
    end = 0
    while (start := text.find("{{//", end)) >= 0 and (closing := text.find("}}", start + 4)) >= 0:
        end = closing + 2
        yield LegacyCall(start, end)


def find_trims(text: str) -> Iterator[LegacyCall]:
    """`{{trim}}` and the line breaks that touch it on both sides."""
    taken = 0
    for match in _TRIM.finditer(text):
        start, end = match.span()
        while start > taken and text[start - 1] == "\n":
            start -= 2 if start - 2 >= taken and text[start - 2] == "\r" else 1
        while text.startswith(("\n", "\r\n"), end):
            end += 2 if text[end] == "\r" else 1
        taken = end
        yield LegacyCall(start, end)
