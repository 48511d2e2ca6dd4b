"""What tags have in common: reading their blocks, writing their output, saying on which line they failed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from io import StringIO
from typing import TextIO

from liquid import Environment
from liquid.ast import Node
from liquid.context import RenderContext
from liquid.parser import get_parser
from liquid.stream import TokenStream
from liquid.tag import Tag
from liquid.token import TOKEN_EOF, Token

from tavernkit.artifacts.liquid.expressions import Filtered
from tavernkit.artifacts.liquid.limits import Meter
from tavernkit.artifacts.liquid.problems import CannotRenderError, TooCostlyError, syntax_error
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.errors import LiquidLimitError, LiquidRenderError

__all__ = [
    "Output",
    "TemplateNode",
    "TemplateTag",
    "check_filters",
    "failure",
    "line_of",
    "read_block",
    "refuse_text",
    "render_all",
    "rendered",
]


class Output(StringIO):
    """Where text goes that counts as the template's output."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def write(self, text: str, /) -> int:
        self._meter.written(len(text))
        return super().write(text)


class TemplateNode(Node):
    """A node that renders into one of our renderings."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        if not isinstance(context, Rendering):
            raise TypeError("a template renders only in its own kind of context")
        try:
            context.meter.step()
            self.write(context, buffer)
        except CannotRenderError as problem:
            raise failure(problem, line_of(self.token)) from None
        return 0

    @abstractmethod
    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        """Write what the node is worth."""


class TemplateTag(Tag):
    """A tag of ours, whose tokens are its name and what follows the name."""

    def parse(self, stream: TokenStream) -> Node:
        opening = stream.next()
        return self.read(stream, opening, Scanner.of(stream.current))

    @abstractmethod
    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        """Make the node; the stream stands behind the name, and must end at the last token that is the tag's."""

    def filtered(self, scanner: Scanner) -> Filtered:
        """An expression whose filters are known."""
        value = scanner.filtered()
        check_filters(self.env, value, scanner.source)
        return value


def check_filters(env: Environment, value: Filtered, source: str) -> None:
    """Raises LiquidSyntaxError for a filter that there is not, if the environment is strict."""
    for call in value.filters:
        if env.strict_filters and call.name not in env.filters:
            raise syntax_error(f"there is no filter {call.name}", source, call.position)


def read_block(tag: Tag, stream: TokenStream, opening: Token, ends: Sequence[str]) -> list[Node]:
    """Everything up to one of the ends, where the stream then stands."""
    stream.next()
    nodes = get_parser(tag.env).parse_block(stream, ends).nodes
    if stream.current.kind == TOKEN_EOF:
        problem = f"{{% {opening.value} %}} is not closed with {{% {ends[-1]} %}}"
        raise syntax_error(problem, opening.source, opening.start_index)
    return nodes


def refuse_text(stream: TokenStream, tag: Token) -> None:
    """Raises LiquidSyntaxError if anything follows the name of an `else` or an end."""
    text = stream.current
    if text.value:
        raise syntax_error(f"nothing may follow {tag.value}", text.source, text.start_index)


def render_all(nodes: Sequence[Node], rendering: Rendering, buffer: TextIO) -> None:
    """Render one after the other until a `break` or `continue` is on its way."""
    for node in nodes:
        node.render(rendering, buffer)
        if rendering.is_interrupted:
            return


def rendered(nodes: Sequence[Node], rendering: Rendering) -> str:
    """The text of nodes that is kept instead of printed."""
    buffer = StringIO()
    render_all(nodes, rendering, buffer)
    text = buffer.getvalue()
    rendering.meter.made(len(text))
    return text


def line_of(token: Token) -> int:
    return token.source.count("\n", 0, token.start_index) + 1


def failure(problem: CannotRenderError, line: int) -> LiquidRenderError:
    """The public error for a problem."""
    if isinstance(problem, TooCostlyError):
        return LiquidLimitError(f"Line {line} of the template: {problem}. Make it smaller.", line=line)
    return LiquidRenderError(f"Line {line} of the template: {problem}.", line=line)
