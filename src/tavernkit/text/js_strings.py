"""Text as JavaScript sees it: a row of UTF-16 units, with its own idea of white space."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from struct import unpack

__all__ = ["JS_WHITESPACE", "join_halves", "js_trim", "python_offsets", "utf16_length", "utf16_units"]

JS_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""What `trim()` and `\\s` take for white space; Python's own list has other members."""

_LAST_OF_ONE_UNIT = "\uffff"
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def js_trim(text: str) -> str:
    """The text without JavaScript's white space at both ends."""
    return text.strip(JS_WHITESPACE)


def utf16_units(text: str) -> Sequence[int]:
    """The numbers that `charCodeAt` gives, one after the other; lone surrogates stand for themselves."""
    if text.isascii():
        return text.encode("ascii")
    data = text.encode("utf-16-le", "surrogatepass")
    return unpack(f"<{len(data) // 2}H", data)


def utf16_length(text: str) -> int:
    """What `text.length` is in JavaScript."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def join_halves(text: str) -> str:
    """The text with surrogates that have come to stand side by side made one character, as they are in JavaScript."""
    if text.isascii() or not _SPLIT_PAIR.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def python_offsets(text: str, offsets: Sequence[int]) -> list[int]:
    """The places of UTF-16 offsets in the Python string; one inside a surrogate pair becomes that character's."""
    if utf16_length(text) == len(text):
        return list(offsets)
    # Every wide character moves what follows it by one: count those whose second unit is at the offset or before it.
    wide = (place for place, character in enumerate(text) if character > _LAST_OF_ONE_UNIT)
    second_units = [place + count for count, place in enumerate(wide, start=1)]
    return [offset - bisect_right(second_units, offset) for offset in offsets]
