"""The text of a block without the white space that only its layout asked for."""

from __future__ import annotations

import re

from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

_INDENT = re.compile(r"[ \t]*")


def dedent(text: str) -> str:
    """Take the indentation of the first line that is not blank from every line, then trim both ends.

    A line that is indented less loses all white space at its start.
    """
    lines = text.split("\n")
    width = next((_indent(line) for line in lines if js_trim(line)), 0)
    if width == 0:
        return js_trim(text)
    return js_trim("\n".join(line[width:] if _indent(line) >= width else line.lstrip(JS_WHITESPACE) for line in lines))


def _indent(line: str) -> int:
    match = _INDENT.match(line)
    return 0 if match is None else match.end()
