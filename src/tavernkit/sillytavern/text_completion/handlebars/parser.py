"""Builds the nodes of a template from its tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tavernkit.sillytavern.text_completion.handlebars.lexer import HandlebarsTag, Token, Word, problem, split_tags
from tavernkit.sillytavern.text_completion.handlebars.nodes import (
    MAX_DEPTH,
    MAX_TAGS,
    MAX_TEMPLATE,
    Comment,
    Expression,
    HandlebarsBlock,
    HandlebarsBody,
    HandlebarsCall,
    HandlebarsLiteral,
    HandlebarsOutput,
    HandlebarsPath,
    HandlebarsText,
    Strip,
    control_whitespace,
)

_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "undefined": None}
_QUOTE = re.compile(r"\\([\"'])")


def parse(template: str) -> HandlebarsBody:
    """The template's nodes, white space already controlled."""
    if len(template) > MAX_TEMPLATE:
        raise problem(f"it is {len(template):,} characters long; at most {MAX_TEMPLATE:,} are read.", 0)
    body = _Parser(template).template()
    control_whitespace(body, is_root=True)
    return body


class _Parser:
    """Reads the tokens of one template from left to right."""

    def __init__(self, template: str) -> None:
        self._tokens = split_tags(template)
        self._tags = 0

    def template(self) -> HandlebarsBody:
        body, end = self._body(0)
        if end is not None:
            raise problem("a block is closed or divided here that was never opened.", end.position)
        return body

    def _next(self) -> Token | None:
        token = next(self._tokens, None)
        if isinstance(token, HandlebarsTag):
            self._tags += 1
            if self._tags > MAX_TAGS:
                raise problem(f"it has more than {MAX_TAGS:,} tags.", token.position)
        return token

    def _body(self, depth: int) -> tuple[HandlebarsBody, HandlebarsTag | None]:
        """The nodes up to an `else`, the end of a block or of the template, and the tag that ended them."""
        body = HandlebarsBody()
        while (token := self._next()) is not None:
            if isinstance(token, str):
                body.nodes.append(HandlebarsText(token, token))
                continue
            match token.kind:
                case "comment":
                    body.nodes.append(Comment(token.strip))
                case "output":
                    body.nodes.append(HandlebarsOutput(_call(token), token.strip))
                case "open" | "open_inverse":
                    body.nodes.append(self._block(token, depth + 1))
                case "else" | "close":
                    return body, token
        return body, None

    def _block(self, opening: HandlebarsTag, depth: int) -> HandlebarsBlock:
        block, end = self._arms(opening, depth)
        name = block.call.target.text
        if end.kind != "close":
            raise problem(f"the block `{name}` has more than one `else`.", end.position)
        words = _Words(end.words, end.position)
        closed = words.name().text
        words.finish()
        if closed != name:
            raise problem(f"the block `{name}` is closed as `{closed}`.", end.position)
        _set_close(block, end.strip)
        return block

    def _arms(self, opening: HandlebarsTag, depth: int) -> tuple[HandlebarsBlock, HandlebarsTag]:
        if depth > MAX_DEPTH:
            raise problem(f"its blocks are nested more than {MAX_DEPTH} deep.", opening.position)
        call = _call(opening)
        first, end = self._body(depth)
        second: HandlebarsBody | None = None
        middle_strip = Strip()
        if end is not None and end.kind == "else":
            middle_strip = end.strip
            if end.words:
                chain, end = self._arms(end, depth + 1)
                second = HandlebarsBody([chain], chain)
            else:
                second, end = self._body(depth)
        if end is None:
            raise problem(f"the block `{call.target.text}` has no end.", opening.position)
        inverted = opening.kind == "open_inverse"
        return HandlebarsBlock(call, first, second, inverted, opening.strip, middle_strip, close_strip=Strip()), end


def _set_close(block: HandlebarsBlock, strip: Strip) -> None:
    """The end of a chain of `else if` is the end of each of its blocks."""
    block.close_strip = strip
    if block.second is not None and block.second.chain is not None:
        _set_close(block.second.chain, strip)


def _call(tag: HandlebarsTag) -> HandlebarsCall:
    words = _Words(tag.words, tag.position)
    call = words.call()
    words.finish()
    return call


class _Words:
    """Reads the words of one tag."""

    def __init__(self, words: Sequence[Word], position: int) -> None:
        self._words = words
        self._place = 0
        self._position = position
        self._depth = 0

    def _peek(self, ahead: int = 0) -> str | None:
        place = self._place + ahead
        return self._words[place].kind if place < len(self._words) else None

    def _take(self) -> Word:
        if self._place >= len(self._words):
            raise problem("a tag is empty or ends too early.", self._position)
        word = self._words[self._place]
        self._place += 1
        return word

    def finish(self) -> None:
        if self._place < len(self._words):
            word = self._words[self._place]
            raise problem(f"{word.text!r} is not expected here.", word.position)

    def call(self) -> HandlebarsCall:
        position = self._words[self._place].position if self._place < len(self._words) else self._position
        target = self.name()
        arguments: list[Expression] = []
        has_named = False
        while self._peek() not in (None, "close"):
            if self._peek() in ("id", "segment") and self._peek(1) == "equals":
                self._take()
                self._take()
                self._argument()
                has_named = True
            elif has_named:
                raise problem("a named argument must stand behind the others.", position)
            else:
                arguments.append(self._argument())
        return HandlebarsCall(target, tuple(arguments), has_named, position)

    def _argument(self) -> Expression:
        if self._peek() != "open":
            return self.name()
        opening = self._take()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise problem(f"its calls are nested more than {MAX_DEPTH} deep.", opening.position)
        call = self.call()
        if self._peek() != "close":
            raise problem("a parenthesis is not closed.", opening.position)
        self._take()
        self._depth -= 1
        return call

    def name(self) -> HandlebarsPath | HandlebarsLiteral:
        word = self._take()
        match word.kind:
            case "string":
                text = _QUOTE.sub(r"\1", word.text[1:-1])
                return HandlebarsLiteral(text, text)
            case "number":
                return HandlebarsLiteral(word.text, float(word.text))
            case "constant":
                return HandlebarsLiteral(word.text, _CONSTANTS[word.text])
            case "at":
                return self._path(self._take(), data=True)
            case "id" | "segment" | "dot":
                return self._path(word, data=False)
            case _:
                raise problem(f"{word.text!r} is not expected here.", word.position)

    def _path(self, word: Word, *, data: bool) -> HandlebarsPath:
        written = "@" if data else ""
        parts: list[str] = []
        up = 0
        scoped = False
        while True:
            written += word.text
            if word.kind == "segment":
                parts.append(word.text[1:-1])
            elif word.kind not in ("id", "dot"):
                raise problem(f"{word.text!r} is not expected here.", word.position)
            elif word.text in ("..", ".", "this"):
                if parts:
                    raise problem(f"{word.text!r} may only stand at the beginning of a name.", word.position)
                scoped = True
                up += word.text == ".."
            else:
                parts.append(word.text)
            if self._peek() != "separator":
                return HandlebarsPath(written, tuple(parts), up, data, scoped)
            written += self._take().text
            word = self._take()
