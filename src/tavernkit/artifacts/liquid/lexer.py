"""Cutting a template into text, outputs and tags, as LiquidJS cuts it, in python-liquid's tokens.

Every tag is two tokens, its name and what follows the name, even if nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from liquid.exceptions import LiquidSyntaxError
from liquid.token import TOKEN_CONTENT, TOKEN_EXPRESSION, TOKEN_OUTPUT, TOKEN_TAG, Token

from tavernkit.artifacts.liquid.problems import syntax_error
from tavernkit.artifacts.liquid.scanner import WHITESPACE, Scanner, is_word

__all__ = ["tag_lines", "tokens"]

_OPENING = re.compile(r"\{[%{]")
_END_OF_RAW = re.compile(f"[{WHITESPACE}]*endraw(?P<behind>.?)", re.DOTALL)
_LONGEST_QUOTE = 24


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the template; `start` and `end` are those of its inside, without signs."""

    kind: str
    start: int
    end: int
    trims_before: bool = False
    trims_after: bool = False
    name: str = ""


def tokens(source: str) -> Iterator[Token]:
    """The tokens of a template; raises LiquidSyntaxError for what is not closed."""
    for piece in _trimmed(source, list(_pieces(source))):
        if piece.kind == TOKEN_CONTENT:
            # Text that was trimmed to nothing is still a part: a `break` in a table stops behind each cell's first.
            yield Token(TOKEN_CONTENT, source[piece.start : piece.end], piece.start, source)
        elif piece.kind == TOKEN_TAG:
            yield from _tag(source, piece.start, piece.end)
        else:
            yield Token(TOKEN_OUTPUT, "", piece.start, source)
            yield Token(TOKEN_EXPRESSION, source[piece.start : piece.end], piece.start, source)


def tag_lines(token: Token) -> Iterator[Token]:
    """The tokens of a `liquid` tag, which has one tag on each line; between `raw` and `endraw` lines are text."""
    start = token.start_index
    raw: list[str] | None = None
    for line in token.value.split("\n"):
        # Lines of text must look like tags, too.
        found = list(_tag(token.source, start, start + len(line))) if line.strip(WHITESPACE) else []
        if raw is not None and found and found[0].value == "endraw":
            yield Token(TOKEN_CONTENT, "".join(raw), start, token.source)
            raw = None
        if raw is None:
            yield from found
            raw = [] if found and found[0].value == "raw" else None
        elif found:
            raw.append(line.lstrip(WHITESPACE) + "\n")
        start += len(line) + 1
    if raw is not None:
        raise _unclosed_raw(token.source, token.start_index)


def _tag(source: str, start: int, end: int) -> Iterator[Token]:
    scanner = Scanner(source[start:end], source=source, offset=start)
    name = "#" if scanner.take("#") else scanner.name()
    if not name:
        scanner.fail("a tag has no name")
    yield Token(TOKEN_TAG, name, start, source)
    scanner.skip_blank()
    yield Token(TOKEN_EXPRESSION, scanner.rest().rstrip(WHITESPACE), start + scanner.place, source)


def _pieces(source: str) -> Iterator[_Piece]:
    place = 0
    while place < len(source):
        if source.startswith("{%", place):
            piece = _delimited(source, place, TOKEN_TAG, "%}")
            place = piece.end + piece.trims_after + 2
            yield piece
            if piece.name == "raw":
                content, close = _raw(source, place)
                yield from (content, close)
                place = close.end + close.trims_after + 2
        elif source.startswith("{{", place):
            piece = _delimited(source, place, TOKEN_OUTPUT, "}}")
            place = piece.end + piece.trims_after + 2
            yield piece
        else:
            opening = _OPENING.search(source, place)
            end = len(source) if opening is None else opening.start()
            yield _Piece(TOKEN_CONTENT, place, end)
            place = end


def _delimited(source: str, place: int, kind: str, closing: str) -> _Piece:
    end = _closing(source, place + 2, closing, skips_quotes=kind == TOKEN_OUTPUT)
    if end < 0:
        quote = source[place : place + _LONGEST_QUOTE].strip()
        raise syntax_error(f"“{quote}” is not closed with {closing}", source, place)
    before = source[place + 2] == "-"
    after = source[end - 1] == "-" and end - 1 >= place + 2
    start, stop = place + 2 + before, end - after
    if stop < start:
        raise syntax_error(f"“{source[place : end + 2]}” is empty", source, place)
    name = Scanner(source[start:stop]).name() if kind == TOKEN_TAG else ""
    return _Piece(kind, start, stop, before, after, name)


def _closing(source: str, place: int, closing: str, *, skips_quotes: bool) -> int:
    if not skips_quotes:
        return source.find(closing, place)
    quote = ""
    while place < len(source):
        character = source[place]
        if quote:
            if character == "\\":
                place += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif source.startswith(closing, place):
            return place
        place += 1
    return -1


def _raw(source: str, place: int) -> tuple[_Piece, _Piece]:
    """What stands between `raw` and `endraw`, and the latter, which may not trim what is before it."""
    at = place
    while (at := source.find("{%", at)) >= 0:
        match = _END_OF_RAW.match(source, at + 2)
        if match is not None and not (match["behind"] and is_word(match["behind"])):
            return _Piece(TOKEN_CONTENT, place, at), _delimited(source, at, TOKEN_TAG, "%}")
        at += 2
    raise _unclosed_raw(source, place)


def _unclosed_raw(source: str, place: int) -> LiquidSyntaxError:
    return syntax_error("a raw tag is not closed with {% endraw %}", source, place)


def _trimmed(source: str, pieces: list[_Piece]) -> list[_Piece]:
    """The pieces after `-` has taken white space from the texts beside tags and outputs; raw text keeps its own."""
    in_raw = False
    for place, piece in enumerate(pieces):
        if piece.kind == TOKEN_CONTENT:
            continue
        if piece.trims_before and not in_raw and place > 0 and pieces[place - 1].kind == TOKEN_CONTENT:
            text = pieces[place - 1]
            kept = source[text.start : text.end].rstrip(WHITESPACE)
            pieces[place - 1] = replace(text, end=text.start + len(kept))
        if piece.name in ("raw", "endraw"):
            in_raw = piece.name == "raw"
        if piece.trims_after and not in_raw and place + 1 < len(pieces) and pieces[place + 1].kind == TOKEN_CONTENT:
            text = pieces[place + 1]
            kept = source[text.start : text.end].lstrip(WHITESPACE)
            pieces[place + 1] = replace(text, start=text.end - len(kept))
    return pieces
