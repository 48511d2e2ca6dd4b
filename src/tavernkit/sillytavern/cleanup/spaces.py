"""Line breaks and spaces of a reply."""

from __future__ import annotations

import re

from tavernkit.text.js_strings import JS_WHITESPACE

__all__ = ["collapse_newlines", "strip_line_ends"]

_NEWLINES = re.compile(r"\n+")
_SPACES = re.compile("[" + JS_WHITESPACE.translate({ord(end): None for end in "\r\n"}) + "]+")
_SEPARATORS = ("\u2028", "\u2029")


def collapse_newlines(text: str) -> str:
    """Make one line break of several in a row."""
    return _NEWLINES.sub("\n", text)


def strip_line_ends(text: str) -> str:
    """Remove the white space at the end of every line; line breaks stay as they are."""
    return _SPACES.sub(_without_line_end, text)


def _without_line_end(spaces: re.Match[str]) -> str:
    # Whole runs of spaces are looked at, once each: a pattern that looks for the line end itself takes quadratic time.
    if spaces.end() == len(spaces.string) or spaces.string[spaces.end()] in "\r\n":
        return ""
    run = spaces[0]
    # JavaScript's $ also stands before these two, which are white space themselves.
    last_break = max(map(run.rfind, _SEPARATORS))
    return run if last_break < 0 else run[last_break:]
