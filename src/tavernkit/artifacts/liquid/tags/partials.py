"""Tags that bring in other templates. There is no file system: only texts that the caller gave by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TextIO, TypeAlias

from liquid.ast import Node
from liquid.exceptions import LiquidError
from liquid.parser import get_parser
from liquid.stream import TokenStream
from liquid.token import Token

from tavernkit.artifacts.liquid.conversion import to_text
from tavernkit.artifacts.liquid.data import UNDEFINED, Drop, ForLoop
from tavernkit.artifacts.liquid.expressions import Literal, Path, Term
from tavernkit.artifacts.liquid.limits import MAX_NESTING
from tavernkit.artifacts.liquid.nodes import TemplateNode, TemplateTag, read_block, render_all, rendered
from tavernkit.artifacts.liquid.problems import CannotRenderError, TooCostlyError
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.artifacts.liquid.tags.loops import enumerated, named_values

__all__ = ["BlockTag", "IncludeTag", "LayoutTag", "RenderTag"]

_BLOCKS = "blocks"
_OPEN = "open blocks"
_STORES = "stores blocks"
_File: TypeAlias = Term | Sequence[Node]


class PartialNode(TemplateNode):
    """A node that renders another template."""

    def __init__(self, token: Token, file: _File, options: Mapping[str, Term | None]) -> None:
        super().__init__(token)
        self._file = file
        self._options = options

    def _name(self, rendering: Rendering) -> str:
        if isinstance(self._file, Sequence):
            name = rendered(self._file, rendering)
        else:
            name = to_text(self._file.evaluate(rendering), rendering.meter)
        if not name:
            raise CannotRenderError("it asks for a template without a name")
        return name

    def _nodes(self, name: str, rendering: Rendering) -> Sequence[Node]:
        source = rendering.options.partials.get(name)
        if source is None:
            raise CannotRenderError(
                f"it asks for the template “{name}”, and there is none of that name; write its text here instead"
            )
        if name not in rendering.partials:
            try:
                rendering.partials[name] = rendering.env.from_string(source).nodes
            except LiquidError as error:
                raise CannotRenderError(f"the template “{name}” cannot be read: {error.message}") from None
        return rendering.partials[name]

    def _render(self, name: str, rendering: Rendering, buffer: TextIO) -> None:
        nodes = self._nodes(name, rendering)
        if rendering.depth >= MAX_NESTING:
            raise TooCostlyError(f"templates bring in each other more than {MAX_NESTING} deep")
        rendering.depth += 1
        render_all(nodes, rendering, buffer)
        rendering.depth -= 1


def _file(tag: TemplateTag, scanner: Scanner) -> _File:
    """The name of a template: a value, or a text that is itself a small template."""
    term = scanner.wanted_value()
    if isinstance(term, Literal) and isinstance(term.value, str) and "{" in term.value:
        return tag.env.from_string(term.value).nodes
    return term


class IncludeNode(PartialNode):
    """A template that sees the variables of this one, but has blocks of its own."""

    def __init__(self, token: Token, file: _File, options: Mapping[str, Term | None], given: Term | None) -> None:
        super().__init__(token, file, options)
        self._given = given

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        name = self._name(rendering)
        names = named_values(self._options, rendering)
        if self._given is not None:
            names[name] = self._given.evaluate(rendering)
        around = {register: rendering.registers.pop(register, None) for register in (_BLOCKS, _OPEN, _STORES)}
        with rendering.scoped(names):
            self._render(name, rendering, buffer)
        for register, before in around.items():
            rendering.registers[register] = before


class IncludeTag(TemplateTag):
    """Reads `include 'name' with value, name: value`."""

    name = "include"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        file = _file(self, scanner)
        given = _given(scanner, "with")
        return IncludeNode(opening, file, scanner.hash(), given)


class RenderNode(PartialNode):
    """A template that sees only what it is given."""

    def __init__(
        self,
        token: Token,
        file: _File,
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
        file = _file(self, scanner)
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
        self,
        token: Token,
        file: _File,
        options: Mapping[str, Term | None],
        nodes: Sequence[Node],
        *,
        is_alone: bool,
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
        _blocks(rendering).setdefault("", lambda _, buffer: buffer.write(text))
        with rendering.scoped(named_values(self._options, rendering)):
            self._render(name, rendering, buffer)
        return None


class LayoutTag(TemplateTag):
    """Reads `layout`, to which everything behind it belongs."""

    name = "layout"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        file = _file(self, scanner)
        options = scanner.hash()
        stream.next()
        nodes = get_parser(self.env).parse(stream)
        return LayoutNode(opening, file, options, nodes, is_alone=isinstance(file, Path) and file.text == "none")


class Block(Drop):
    """`block`: inside of a block, whose `super` is the text of the one that it fills."""

    def __init__(self, outer: Callable[[], str]) -> None:
        self._outer = outer

    @property
    def value(self) -> object:
        return {}

    def read(self, name: str) -> object:
        return self._outer() if name == "super" else UNDEFINED


_Show: TypeAlias = Callable[[Block, TextIO], object]


def _blocks(rendering: Rendering) -> dict[str, _Show]:
    """What blocks of these names will be filled with."""
    blocks: dict[str, _Show] = rendering.registers.get(_BLOCKS) or {}
    rendering.registers[_BLOCKS] = blocks
    return blocks


class BlockNode(TemplateNode):
    """A part that a template with this layout may fill; what fills it is rendered only where it is shown."""

    def __init__(self, token: Token, name: str, nodes: Sequence[Node]) -> None:
        super().__init__(token)
        self._name = name
        self._nodes = nodes

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        def show(outer: Block, buffer: TextIO) -> None:
            with rendering.scoped({"block": outer}):
                render_all(self._nodes, rendering, buffer)

        def text(outer: Block) -> str:
            with rendering.scoped({"block": outer}):
                return rendered(self._nodes, rendering)

        def fill(outer: Block, buffer: TextIO) -> None:
            filling(Block(lambda: text(outer)), buffer)

        blocks = _blocks(rendering)
        filling = blocks.get(self._name, show)
        shown = fill if self._name in blocks else show
        if rendering.registers.get(_STORES):
            blocks[self._name] = shown
            return
        open_blocks: set[BlockNode] = rendering.registers.get(_OPEN) or set()
        rendering.registers[_OPEN] = open_blocks
        if self in open_blocks:
            raise CannotRenderError(f"the block “{self._name}” stands in itself")
        open_blocks.add(self)
        shown(Block(str), buffer)
        open_blocks.discard(self)


class BlockTag(TemplateTag):
    """Reads `block`."""

    name = "block"
    end = "endblock"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        name = scanner.name() or scanner.quoted_text() or ""
        nodes = read_block(self, stream, opening, ("endblock",))
        stream.next()
        return BlockNode(opening, name, nodes)
