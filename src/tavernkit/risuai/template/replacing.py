"""Putting one text into another as JavaScript's `replace` does with a plain text to look for."""

from __future__ import annotations

import re

__all__ = ["replace_all", "replace_first"]

_PATTERN = re.compile(r"\$([$&`'])")


def replace_first(text: str, sought: str, by: str) -> str:
    """Replace the first occurrence; `$&`, `` $` ``, `$'` and `$$` in `by` mean what they mean in JavaScript."""
    place = text.find(sought)
    if place < 0:
        return text
    return text[:place] + _filled(text, sought, place, by) + text[place + len(sought) :]


def replace_all(text: str, sought: str, by: str) -> str:
    """Replace every occurrence of a text that is not empty, in the same way."""
    if sought not in text:
        return text
    if "$" not in by:
        return text.replace(sought, by)
    pieces: list[str] = []
    done = 0
    place = text.find(sought)
    while place >= 0:
        pieces += (text[done:place], _filled(text, sought, place, by))
        done = place + len(sought)
        place = text.find(sought, done)
    return "".join((*pieces, text[done:]))


def _filled(text: str, sought: str, place: int, by: str) -> str:
    if "$" not in by:
        return by

    def meant(match: re.Match[str]) -> str:
        match match[1]:
            case "$":
                return "$"
            case "&":
                return sought
            case "`":
                return text[:place]
            case _:
                return text[place + len(sought) :]

    return _PATTERN.sub(meant, by)
