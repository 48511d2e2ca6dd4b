"""Cutting a text at the edge of a sentence."""

from __future__ import annotations

import re

from tavernkit.sillytavern.cleanup.emoji import EMOJI
from tavernkit.text.js_strings import JS_WHITESPACE

CLOSING_MARKS = '.!?*")}`]$。！？”）】’」_'
_UP_TO_LAST_END = re.compile(f"[\\s\\S]*(?:([{re.escape(CLOSING_MARKS)}])|[{EMOJI}])")


def trim_to_end_sentence(text: str) -> str:
    """The text up to its last closing mark or emoji; all of it where there is none. A mark after a space is dropped."""
    found = _UP_TO_LAST_END.match(text)
    if found is None:
        return text.rstrip(JS_WHITESPACE)
    end = found.end()
    if found[1] and end > 1 and text[end - 2] in JS_WHITESPACE:
        end -= 1
    return text[:end].rstrip(JS_WHITESPACE)


def trim_to_start_sentence(text: str) -> str:
    """The text without what may be the end of a sentence that began before it.

    It begins after the first full stop, or after an exclamation mark, a question mark or a line break before that one.
    """
    stop = text.find(".")
    ends = (text.find(mark, 0, max(stop, 0)) for mark in "!?\n")
    first = min((end for end in ends if end > 0), default=stop)
    if first <= 0:
        return text
    return text[first + (1 if text[first] == "\n" else 2) :]
