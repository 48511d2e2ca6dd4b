"""Emphasis that a model has written with spaces in the wrong places."""

from __future__ import annotations

import re

from tavernkit.text.js_strings import JS_WHITESPACE

_SPACE = "[" + JS_WHITESPACE.translate({ord(end): None for end in "\n\v\f\r\u2028\u2029"}) + "]"
_PAIR = re.compile(r"([*_]{1,2})[\s\S]*?\1")
# A run of spaces is tried at its first space only: from every space of it would take quadratic time.
_SPACED_MARK = re.compile(f"([*_]){_SPACE}+|(?<!{_SPACE}){_SPACE}++([*_])")
_CLOSED_PER_LINE = ("*", '"')


def fix_markdown(text: str, *, for_display: bool = False) -> str:
    """Remove the spaces beside the marks of an emphasis: `* waves *` becomes `*waves*`.

    For display, a line with an odd number of asterisks or quotation marks gets one more at its end, the quotation mark
    alone if both are odd.
    """
    fixed = _PAIR.sub(lambda pair: _SPACED_MARK.sub(r"\1\2", pair[0]), text)
    if not for_display:
        return fixed
    return "\n".join(map(_closed, fixed.split("\n")))


def _closed(line: str) -> str:
    odd = [mark for mark in _CLOSED_PER_LINE if line.count(mark) % 2]
    return line.rstrip(JS_WHITESPACE) + odd[-1] if odd else line
