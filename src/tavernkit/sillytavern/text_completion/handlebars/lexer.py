"""Cuts a template into text and tags, and a tag into its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.sillytavern.text_completion.handlebars.nodes import Strip

TagKind: TypeAlias = Literal["output", "open", "open_inverse", "else", "close", "comment"]


class Word(NamedTuple):
    """One word of a tag, and where it stands in the template; `kind` is the name of its group in the pattern below."""

    kind: str
    text: str
    position: int


class HandlebarsTag(NamedTuple):
    """A tag: what it is, its words, and its `~` marks."""

    kind: TagKind
    words: tuple[Word, ...]
    strip: Strip
    position: int


Token: TypeAlias = str | HandlebarsTag

_MARKS: dict[str, TagKind | None] = {
    "{{": None,  # raw blocks
    "#>": None,  # blocks of partials
    "#*": None,  # decorators of blocks
    ">": None,  # partials
    "*": None,  # decorators
    "{": "output",
    "&": "output",
    "#": "open",
    "/": "close",
    "^": "open_inverse",
}
_MARK = re.compile("|".join(map(re.escape, _MARKS)))
_COMMENT = re.compile(r"\{\{(~?)!(--)?")
_COMMENT_END = re.compile(r"--(~?)\}\}")
_TAG_END = re.compile(r"(~?)\}\}")
_ELSE = re.compile(r"\{\{(~?)\s*else\b")
_TRIPLE_END = re.compile(r"\}(~?)\}\}")
_ENDS = r"(?=[=~}\s/.)\]|]|\Z)"
_WORD = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<string>"(?:\\["]|[^"])*"|'(?:\\[']|[^'])*')
  | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?=[~}}\s)\]]))
  | (?P<constant>(?:true|false|null|undefined)(?=[~}}\s)\]]))
  | (?P<segment>\[(?:\\\]|[^\]])*\])
  | (?P<dot>\.\.|\.{_ENDS})
  | (?P<separator>[/.])
  | (?P<id>[^\s!"\#%-,./;->@\[-^`{{-~]+{_ENDS})
  | (?P<at>@)
  | (?P<equals>=)
  | (?P<open>\()
  | (?P<close>\))
  | (?P<bar>\|)
    """,
    re.VERBOSE,
)


def problem(message: str, position: int) -> InvalidContextTemplateError:
    """The error for a mistake at a place in the story string."""
    return InvalidContextTemplateError(f"The story string cannot be read at character {position + 1}: {message}")


def split_tags(template: str) -> Iterator[Token]:
    """Texts and tags in order; `\\{{` writes a tag as text, `\\\\{{` a backslash before a tag."""
    text: list[str] = []
    place = 0
    while True:
        start = template.find("{{", place)
        if start < 0:
            text.append(template[place:])
            break
        before = template[place:start]
        if before.endswith("\\") and not before.endswith("\\\\"):
            # The braces and what follows are text up to the next tag, which may be escaped in its turn.
            text.append(before[:-1] + "{{")
            place = start + 2
            continue
        text.append(before[:-1] if before.endswith("\\\\") else before)
        if joined := "".join(text):
            yield joined
        text.clear()
        tag, place = _tag(template, start)
        yield tag
    if joined := "".join(text):
        yield joined


def _tag(template: str, start: int) -> tuple[HandlebarsTag, int]:
    if comment := _COMMENT.match(template, start):
        return _comment(template, comment)
    if found := _ELSE.match(template, start):
        return _words(template, start, found.end(), bool(found[1]), "else", _TAG_END)
    before = template.startswith("~", start + 2)
    place = start + 3 if before else start + 2
    mark = found[0] if (found := _MARK.match(template, place)) else ""
    kind = _MARKS.get(mark, "output")
    if kind is None:
        raise problem(f"tags that begin with `{{{{{mark}` are not supported.", start)
    end = _TRIPLE_END if mark == "{" else _TAG_END
    return _words(template, start, place + len(mark), before, kind, end)


def _comment(template: str, opening: re.Match[str]) -> tuple[HandlebarsTag, int]:
    # `{{!--` runs to `--}}`, so that a comment may hold tags; its two dashes may be those of the end.
    closing = (_COMMENT_END if opening[2] else _TAG_END).search(template, opening.end(1) + 1)
    if closing is None:
        raise problem("a comment has no end.", opening.start())
    strip = Strip(bool(opening[1]), bool(closing[1]))
    return HandlebarsTag("comment", (), strip, opening.start()), closing.end()


def _words(
    template: str, start: int, place: int, before: bool, kind: TagKind, end: re.Pattern[str]
) -> tuple[HandlebarsTag, int]:
    words: list[Word] = []
    while (found := end.match(template, place)) is None:
        word = _WORD.match(template, place)
        if place == len(template):
            raise problem("a tag has no end.", start)
        if word is None or word.lastgroup is None:
            raise problem(f"{template[place]!r} is not expected here.", place)
        if word.lastgroup != "space":
            words.append(Word(word.lastgroup, word.group(), place))
        place = word.end()
    if kind == "open_inverse" and not words:
        kind = "else"
    return HandlebarsTag(kind, tuple(words), Strip(before, bool(found[1])), start), found.end()
