"""Cutting very long text before it is encoded.

An encoder takes a whole run of spaces or letters at once; at a million of them tiktoken's pattern matcher runs out of
stack and aborts. So no encoder is given more than one segment. A cut is made where the shipped encodings always start
a new token: between a word and the space before the next word, or after a single line break. Only a segment without any
such place is cut in the middle of a run, which changes the count by a few tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SEGMENT_LENGTH = 65_536

_BORDER = re.compile(r"(?<=[A-Za-z])(?= [A-Za-z])|(?<=\S\n)(?=[^\s/])")
_LINE_END = re.compile(r"\n(?<=\S\n)(?=[^\s/])")
_NEARBY = 2_048


def segments(text: str) -> Iterator[str]:
    """Yield `text` in pieces of at most SEGMENT_LENGTH characters."""
    start = 0
    while len(text) - start > SEGMENT_LENGTH:
        cut = _last_border(text, start, start + SEGMENT_LENGTH)
        yield text[start:cut]
        start = cut
    yield text[start:]


def lines(text: str) -> list[str]:
    """Cut `text` behind every single line break; the shipped encodings have as many tokens for all of these together
    as for the whole."""
    parts: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        end = match.end()
        parts.append(text[start:end])
        start = end
    parts.append(text[start:])
    return parts


def well_formed(text: str) -> str:
    """Replace lone surrogates, which no encoder accepts, by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _last_border(text: str, start: int, end: int) -> int:
    # Ordinary prose has a border close to the end, which saves walking through the whole segment.
    for begin in (end - _NEARBY, start + 1):
        cut = max((match.start() for match in _BORDER.finditer(text, begin, end)), default=None)
        if cut is not None:
            return cut
    return end
