"""What models write around a reply: thoughts, the words of others, labels, white space, the beginning of a stop."""

from __future__ import annotations

import re

from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

END_OF_TEXT = "<|endoftext|>"
_NEWLINES = re.compile(r"\n+")
_SPACES = re.compile("[" + JS_WHITESPACE.translate({ord(end): None for end in "\r\n"}) + "]+")
_SEPARATORS = ("\u2028", "\u2029")


def split_thoughts(
    text: str, prefix: str, suffix: str, *, strict: bool = True, trim_spaces: bool = True
) -> tuple[str, str] | None:
    """The first block of thoughts of a reply, and the reply without it; None when there is no such block.

    `strict` accepts a block at the beginning only, after white space at most.
    """
    # The prefix may itself begin with white space, so every place up to the first visible character is tried.
    indent = len(text) - len(text.lstrip(JS_WHITESPACE))
    start = text.find(prefix, 0, indent + len(prefix)) if strict else text.find(prefix)
    inside = start + len(prefix)
    end = text.find(suffix, inside) if start >= 0 else -1
    if end < 0:
        return None
    before = "" if strict else text[:start]
    thoughts, content = text[inside:end], before + text[end + len(suffix) :]
    return (js_trim(thoughts), js_trim(content)) if trim_spaces else (thoughts, content)


def before_speaker(text: str, name: str) -> str:
    """The text up to the line that this speaker begins; nothing of it when that is the first."""
    label = f"{name}:"
    return "" if text.startswith(label) else text.partition(f"\n{label}")[0]


def without_labels(text: str, label: str) -> str:
    """Take the label off the beginning of every line, with the white space behind it.

    A line break behind a label goes with it, and the next line is then no beginning any more.
    """
    kept: list[str] = []
    place = _after_label(text, len(label)) if text.startswith(label) else 0
    while (found := text.find(f"\n{label}", place)) >= 0:
        kept.append(text[place : found + 1])
        place = _after_label(text, found + 1 + len(label))
    return "".join(kept) + text[place:]


def _after_label(text: str, place: int) -> int:
    while place < len(text) and text[place] in JS_WHITESPACE:
        place += 1
    return place


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


def without_stop(text: str, stop: str) -> str:
    """Remove from the end of the text as much of the stopping string's beginning as stands there."""
    length = _overlap(text[-len(stop) :], stop) if stop else 0
    return text[: len(text) - length]


def _overlap(tail: str, stop: str) -> int:
    """How many characters of the beginning of `stop` the tail ends with.

    Knuth, Morris and Pratt's way: each character is looked at once, however the text repeats itself.
    """
    if tail == stop:
        return len(stop)
    if stop[0] not in tail:
        return 0
    fallback = [0] * len(stop)
    matched = 0
    for place in range(1, len(stop)):
        while matched and stop[place] != stop[matched]:
            matched = fallback[matched - 1]
        matched += stop[place] == stop[matched]
        fallback[place] = matched
    matched = 0
    for character in tail:
        while matched and character != stop[matched]:
            matched = fallback[matched - 1]
        matched += character == stop[matched]
    return matched
