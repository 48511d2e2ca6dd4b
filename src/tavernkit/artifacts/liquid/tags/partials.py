"""Tags that bring in other templates. There is no file system: only texts that the caller gave by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from liquid.ast import Node
from liquid.exceptions import LiquidError
from liquid.parser import get_parser
from liquid.stream import TokenStream
from liquid.token import Token

from tavernkit.artifacts.liquid.conversion import to_text
from tavernkit.artifacts.liquid.data import ForLoop
from tavernkit.artifacts.liquid.expressions import Term
from tavernkit.artifacts.liquid.limits import MAX_NESTING
from tavernkit.artifacts.liquid.nodes import TemplateNode, TemplateTag, read_block, render_all, rendered
from tavernkit.artifacts.liquid.problems import CannotRenderError, TooCostlyError
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.artifacts.liquid.tags.loops import enumerated, named_values

__all__ = ["BlockTag", "IncludeTag", "LayoutTag", "RenderTag"]

_BLOCKS = "blocks"
_DEPTH = "depth"
_STORES = "stores blocks"


class PartialNode(TemplateNode):
    """A node that renders another template."""

    def __init__(self, token: Token, file: Term, options: Mapping[str, Term | None]) -> None:
        super().__init__(token)
        self._file = file
        self._options = options

    def _name(self, rendering: Rendering) -> str:
        return to_text(self._file.evaluate(rendering), rendering.meter)

    def _nodes(self, name: str, rendering: Rendering) -> Sequence[Node]:
        source = rendering.options.partials.get(name)
        if source is None:
            raise CannotRenderError(
                f"it asks for the template “{name}”, and there is none of that name; write its text here instead"
            )
        cached: Sequence[Node] | None = rendering.registers.get(f"partial:{name}")
        if cached is None:
            try:
                cached = rendering.env.from_string(source).nodes
            except LiquidError as error:
                raise CannotRenderError(f"the template “{name}” cannot be read: {error.message}") from None
            rendering.registers[f"partial:{name}"] = cached
        return cached

    def _render(self, name: str, rendering: Rendering, buffer: TextIO) -> None:
        nodes = self._nodes(name, rendering)
        depth = rendering.registers.get(_DEPTH, 0)
        if depth >= MAX_NESTING:
            raise TooCostlyError(f"templates bring in each other more than {MAX_NESTING} deep")
        rendering.registers[_DEPTH] = depth + 1
        render_all(nodes, rendering, buffer)
        rendering.registers[_DEPTH] = depth


class IncludeNode(PartialNode):
    """A template that sees the variables of this one."""

    def __init__(self, token: Token, file: Term, options: Mapping[str, Term | None], given: Term | None) -> None:
        super().__init__(token, file, options)
        self._given = given

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        name = self._name(rendering)
        names = named_values(self._options, rendering)
        if self._given is not None:
            names[name] = self._given.evaluate(rendering)
        with rendering.scoped(names):
            self._render(name, rendering, buffer)


class IncludeTag(TemplateTag):
    """Reads `include 'name' with value, name: value`."""

    name = "include"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        file = scanner.wanted_value()
        given = _given(scanner, "with")
        return IncludeNode(opening, file, scanner.hash(), given)


class RenderNode(PartialNode):
    """A template that sees only what it is given."""

    def __init__(
        self,
        token: Token,
        file: Term,
        options: Mapping[str, Term | None],
        given: tuple[Term, str] | None,
        each: tuple[Term, str] | None,
    ) -> None:
        super().__init__(token, file, options)
        self._given = given
        self._each = each

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        name = self._name(rendering)
        names = named_values(self._options, rendering)
        if self._given is not None:
            term, alias = self._given
            names[alias or name] = term.evaluate(rendering)
        if self._each is None:
            with rendering.isolated(names):
                return self._render(name, rendering, buffer)
        term, alias = self._each
        items = enumerated(term.evaluate(rendering))
        loop = ForLoop(len(items), f"{alias}-{term.text}")
        names["forloop"] = loop
        with rendering.isolated(names):
            for item in items:
                rendering.meter.turn()
                if alias:
                    names[alias] = item
                self._render(name, rendering, buffer)
                loop.place += 1
        return None


class RenderTag(TemplateTag):
    """Reads `render 'name' with value as name` or `for list as name`, and `name: value` pairs."""

    name = "render"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        file = scanner.wanted_value()
        given: dict[str, tuple[Term, str]] = {}
        for word in ("with", "for", "with"):
            term = _given(scanner, word)
            if term is not None:
                given[word] = (term, _alias(scanner))
                scanner.take(",")
        return RenderNode(opening, file, scanner.hash(), given.get("with"), given.get("for"))


def _given(scanner: Scanner, word: str) -> Term | None:
    """The value after `with` or `for`, unless the word is a name that has a value itself."""
    start = scanner.place
    if scanner.name() == word and not scanner.take(":"):
        value = scanner.value()
        if value is not None:
            return value
    scanner.place = start
    return None


def _alias(scanner: Scanner) -> str:
    start = scanner.place
    if scanner.name() == "as":
        return scanner.name()
    scanner.place = start
    return ""


class LayoutNode(PartialNode):
    """The rest of the template, whose blocks fill those of another; `none` is no other."""

    def __init__(
        self, token: Token, file: Term, options: Mapping[str, Term | None], nodes: Sequence[Node], *, is_alone: bool
    ) -> None:
        super().__init__(token, file, options)
        self._rest = nodes
        self._is_alone = is_alone

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        if self._is_alone:
            return render_all(self._rest, rendering, buffer)
        name = self._name(rendering)
        self._nodes(name, rendering)
        rendering.registers[_STORES] = True
        text = rendered(self._rest, rendering)
        rendering.registers[_STORES] = False
        rendering.registers.setdefault(_BLOCKS, {}).setdefault("", text)
        with rendering.scoped(named_values(self._options, rendering)):
            self._render(name, rendering, buffer)
        return None


class LayoutTag(TemplateTag):
    """Reads `layout`, to which everything behind it belongs."""

    name = "layout"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        file = scanner.wanted_value()
        options = scanner.hash()
        stream.next()
        nodes = get_parser(self.env).parse(stream)
        return LayoutNode(opening, file, options, nodes, is_alone=file.text == "none")


class BlockNode(TemplateNode):
    """A part that a template with this layout may fill."""

    def __init__(self, token: Token, name: str, nodes: Sequence[Node]) -> None:
        super().__init__(token)
        self._name = name
        self._nodes = nodes

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        blocks: dict[str, str] = rendering.registers.setdefault(_BLOCKS, {})
        if rendering.registers.get(_STORES):
            blocks.setdefault(self._name, rendered(self._nodes, rendering))
        elif self._name in blocks:
            buffer.write(blocks[self._name])
        else:
            render_all(self._nodes, rendering, buffer)


class BlockTag(TemplateTag):
    """Reads `block`."""

    name = "block"
    end = "endblock"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        name = scanner.name()
        nodes = read_block(self, stream, opening, ("endblock",))
        stream.next()
        return BlockNode(opening, name, nodes)
