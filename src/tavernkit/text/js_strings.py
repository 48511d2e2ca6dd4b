"""Text as JavaScript sees it: a row of UTF-16 units, with its own idea of white space."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from struct import unpack

JS_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""What `trim()` and `\\s` take for white space; Python's own list has other members."""

_REPLACEMENT_PATTERN = re.compile(r"(\$[$&`'])")
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


def split_halves(text: str) -> str:
    """The text with every UTF-16 unit as a character of its own; `join_halves` puts the pairs together again."""
    return text if text.isascii() or max(text) <= _LAST_OF_ONE_UNIT else "".join(map(chr, utf16_units(text)))


def from_units(units: Iterable[int]) -> str:
    """What `String.fromCharCode` makes of these numbers from 0 to 65535."""
    return join_halves("".join(map(chr, units)))


def well_formed(text: str) -> str:
    """The text with U+FFFD for every surrogate without its other half, as JavaScript sends it out in UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def python_offsets(text: str, offsets: Sequence[int]) -> list[int]:
    """The places of UTF-16 offsets in the Python string; one inside a surrogate pair becomes that character's."""
    if utf16_length(text) == len(text):
        return list(offsets)
    # Every wide character moves what follows it by one: count those whose second unit is at the offset or before it.
    wide = (place for place, character in enumerate(text) if character > _LAST_OF_ONE_UNIT)
    second_units = [place + count for count, place in enumerate(wide, start=1)]
    return [offset - bisect_right(second_units, offset) for offset in offsets]


def replace_first(text: str, searched: str, replacement: str) -> str:
    """What `text.replace(searched, replacement)` gives for a text that is searched: the first place is replaced."""
    text, searched = split_halves(text), split_halves(searched)
    place = text.find(searched)
    if place < 0:
        return join_halves(text)
    end = place + len(searched)
    meanings = _meanings(text, place, end)
    pieces = _REPLACEMENT_PATTERN.split(replacement)
    return join_halves("".join((text[:place], *(meanings.get(piece, piece) for piece in pieces), text[end:])))


def replace_all(text: str, searched: str, replacement: str, *, longest: int | None = None) -> str:
    """What `text.replaceAll(searched, replacement)` gives, where `$&` and its like have their meaning.

    OverflowError is raised before more than the `longest` text is put in.
    """
    # Inside a pair there is a place too, and a half of it can be searched for.
    text, searched = split_halves(text), split_halves(searched)
    if "$" not in replacement:
        if longest is not None and text.count(searched) * len(replacement) > longest:
            raise OverflowError
        return join_halves(text.replace(searched, replacement))
    pieces = _REPLACEMENT_PATTERN.split(replacement)
    parts: list[str] = []
    start = put_in = 0
    place = text.find(searched)
    while place >= 0:
        end = place + len(searched)
        meanings = _meanings(text, place, end)
        parts.append(text[start:place])
        for piece in pieces:
            part = meanings.get(piece, piece)
            parts.append(part)
            put_in += len(part) + 1  # nothing put in is work as well
        if longest is not None and put_in > longest:
            raise OverflowError
        start = end
        place = text.find(searched, max(end, place + 1)) if place < len(text) else -1
    return join_halves("".join([*parts, text[start:]]))


def _meanings(text: str, place: int, end: int) -> dict[str, str]:
    """What the patterns of a replacement stand for, where it takes the place of `text[place:end]`."""
    return {"$$": "$", "$&": text[place:end], "$`": text[:place], "$'": text[end:]}
