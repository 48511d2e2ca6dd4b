"""Where the chapters of a book begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from tavernkit.values import Value

ChapterRule: TypeAlias = Literal["whole", "messages", "headings"]

DEFAULT_MESSAGES = 50
MOST_MESSAGES = 10_000

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,3}\s+(.*?)[\s#]*$")
_BREAK = re.compile(r"\s{0,3}(?:([-*_~])\s*(?:\1\s*){2,}|[⁂※]\s*)$")
_MARKS = re.compile(r"[*_`~]+")
_LONGEST_TITLE = 200


class Chapters(Value, frozen=True, kw_only=True):
    """The rule: one chapter, one every so many messages, or one at each heading and scene break."""

    rule: ChapterRule = "whole"
    messages: int = DEFAULT_MESSAGES


class Passage(Value, frozen=True, kw_only=True):
    """A part of a message. The first one goes on with the chapter before it, unless it `begins` one itself; `title` is
    the heading that it begins with."""

    text: str
    begins: bool = False
    title: str = ""


def passages(text: str) -> Iterator[Passage]:
    """The message cut at its headings, which stay, and at its scene breaks, which are left out."""
    lines: list[str] = []
    begins, title, fence = False, "", ""
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            fence = mark[1] if not fence else "" if fence == mark[1] else fence
        heading = None if fence else _HEADING.match(line)
        if heading is None and (fence or _BREAK.match(line) is None):
            lines.append(line)
            continue
        # A heading right behind a break begins the same chapter.
        if "".join(lines).strip():
            yield Passage(text="\n".join(lines), begins=begins, title=title)
        begins, title, lines = True, "", []
        if heading is not None:
            title = _MARKS.sub("", heading[1])[:_LONGEST_TITLE].strip()
            lines = [line]
    if "".join(lines).strip() or begins:
        yield Passage(text="\n".join(lines), begins=begins, title=title)
