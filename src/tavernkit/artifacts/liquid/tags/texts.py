"""Text, outputs, comments, and tags that hold lines of tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from liquid.ast import Node
from liquid.parser import get_parser
from liquid.stream import TokenStream
from liquid.tag import Tag
from liquid.token import (
    TOKEN_CONTENT,
    TOKEN_EOF,
    TOKEN_ILLEGAL,
    TOKEN_OUTPUT,
    Token,
)

from tavernkit.artifacts.liquid.conversion import to_text
from tavernkit.artifacts.liquid.expressions import Filtered
from tavernkit.artifacts.liquid.lexer import tag_lines
from tavernkit.artifacts.liquid.nodes import TemplateNode, TemplateTag, render_all
from tavernkit.artifacts.liquid.problems import syntax_error
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering

__all__ = [
    "CommentTag",
    "ContentTag",
    "EchoTag",
    "LineCommentTag",
    "LiquidTag",
    "OutputTag",
    "RawTag",
    "UnknownTag",
]

_LINE_WITHOUT_HASH = re.compile(r"\n\s*[^#\s]")


class ContentNode(TemplateNode):
    """Text that stands for itself."""

    def __init__(self, token: Token) -> None:
        super().__init__(token)
        self._text = token.value if token.kind == TOKEN_CONTENT else ""

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        del rendering
        buffer.write(self._text)


class ContentTag(Tag):
    """Reads the text between tags."""

    name = TOKEN_CONTENT
    block = False

    def parse(self, stream: TokenStream) -> Node:
        return ContentNode(stream.current)


class OutputNode(TemplateNode):
    """The text of a value; of none where there is no value."""

    def __init__(self, token: Token, value: Filtered | None) -> None:
        super().__init__(token)
        self._value = value

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        if self._value is not None:
            buffer.write(to_text(self._value.evaluate(rendering), rendering.meter))


class OutputTag(TemplateTag):
    """Reads `{{ … }}`."""

    name = TOKEN_OUTPUT
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        return OutputNode(opening, self.filtered(scanner))


class EchoTag(TemplateTag):
    """Reads `echo`, which may have no value."""

    name = "echo"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        scanner.skip_blank()
        return OutputNode(opening, None if scanner.at_end() else self.filtered(scanner))


class RawTag(TemplateTag):
    """Reads `raw`; the lexer has made sure that it is closed."""

    name = "raw"
    end = "endraw"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del opening, scanner
        stream.next()
        content = stream.next()
        stream.next()
        return ContentNode(content)


class CommentTag(TemplateTag):
    """Reads `comment`; what is inside must be closed but need not make sense."""

    name = "comment"
    end = "endcomment"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del scanner
        while not stream.current.is_tag("endcomment"):
            if stream.current.kind == TOKEN_EOF:
                raise syntax_error("a comment is not closed with {% endcomment %}", opening.source, opening.start_index)
            stream.next()
        stream.next()
        return ContentNode(opening)


class LineCommentTag(TemplateTag):
    """Reads `{% # … %}`."""

    name = "#"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        if _LINE_WITHOUT_HASH.search(scanner.rest()):
            scanner.fail("every line of a comment in one tag begins with #")
        return ContentNode(opening)


class LinesNode(TemplateNode):
    """What the lines of a `liquid` tag made."""

    def __init__(self, token: Token, nodes: Sequence[Node]) -> None:
        super().__init__(token)
        self._nodes = nodes

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        render_all(self._nodes, rendering, buffer)


class LiquidTag(TemplateTag):
    """Reads `liquid`, a tag on each line."""

    name = "liquid"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del scanner
        lines = TokenStream(tag_lines(stream.current), block_depth_carry=stream.block_depth + 1)
        return LinesNode(opening, get_parser(self.env).parse(lines))


class UnknownTag(TemplateTag):
    """Stands for every tag that there is not."""

    name = TOKEN_ILLEGAL
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream, scanner
        problem = f"there is no tag {opening.value}, or it stands where it cannot"
        raise syntax_error(problem, opening.source, opening.start_index)
