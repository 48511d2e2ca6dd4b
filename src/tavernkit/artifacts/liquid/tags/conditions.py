"""`if`, `unless` and `case`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from liquid.ast import Node
from liquid.stream import TokenStream
from liquid.token import Token

from tavernkit.artifacts.liquid.comparing import equals, is_truthy
from tavernkit.artifacts.liquid.data import plain
from tavernkit.artifacts.liquid.expressions import Filtered, Term
from tavernkit.artifacts.liquid.nodes import TemplateNode, TemplateTag, read_block, refuse_text, render_all
from tavernkit.artifacts.liquid.problems import syntax_error
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering

__all__ = ["CaseTag", "IfTag", "UnlessTag"]


@dataclass(frozen=True, slots=True)
class _Branch:
    condition: Filtered
    wanted: bool
    nodes: Sequence[Node]


class ConditionNode(TemplateNode):
    """The first branch whose condition is as wanted, or what is left."""

    def __init__(self, token: Token, branches: Sequence[_Branch], otherwise: Sequence[Node]) -> None:
        super().__init__(token)
        self._branches = branches
        self._otherwise = otherwise

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        for branch in self._branches:
            value = branch.condition.evaluate(rendering, lenient=rendering.is_lenient)
            if is_truthy(value) is branch.wanted:
                return render_all(branch.nodes, rendering, buffer)
        return render_all(self._otherwise, rendering, buffer)


class IfTag(TemplateTag):
    """Reads `if`; one `else` at most, and nothing after it but the end."""

    name = "if"
    end = "endif"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        branches: list[_Branch] = []
        otherwise: Sequence[Node] | None = None
        condition = self.filtered(scanner)
        nodes = read_block(self, stream, opening, ("elsif", "else", "endif"))
        branches.append(_Branch(condition, True, nodes))
        while (tag := stream.next()).value != "endif":
            if otherwise is not None:
                raise syntax_error(f"{tag.value} stands after else", tag.source, tag.start_index)
            if tag.value == "else":
                refuse_text(stream, tag)
                otherwise = read_block(self, stream, opening, ("elsif", "else", "endif"))
            else:
                condition = self.filtered(Scanner.of(stream.current))
                nodes = read_block(self, stream, opening, ("elsif", "else", "endif"))
                branches.append(_Branch(condition, True, nodes))
        refuse_text(stream, tag)
        return ConditionNode(opening, branches, otherwise or ())


class UnlessTag(TemplateTag):
    """Reads `unless`; whatever follows a second `else` is ignored."""

    name = "unless"
    end = "endunless"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        condition = self.filtered(scanner)
        branches = [_Branch(condition, False, read_block(self, stream, opening, ("elsif", "else", "endunless")))]
        otherwise: list[Node] | None = None
        while (tag := stream.next()).value != "endunless":
            condition_here = self.filtered(Scanner.of(stream.current)) if tag.value == "elsif" else None
            nodes = read_block(self, stream, opening, ("elsif", "else", "endunless"))
            if otherwise is not None:
                continue
            if condition_here is None:
                otherwise = nodes
            else:
                branches.append(_Branch(condition_here, True, nodes))
        return ConditionNode(opening, branches, otherwise or ())


class CaseNode(TemplateNode):
    """Every branch with an equal value, one after the other, or what is left."""

    def __init__(
        self,
        token: Token,
        target: Filtered,
        branches: Sequence[tuple[Sequence[Term], Sequence[Node]]],
        otherwise: Sequence[Node],
    ) -> None:
        super().__init__(token)
        self._target = target
        self._branches = branches
        self._otherwise = otherwise

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        lenient = rendering.is_lenient
        target = plain(self._target.evaluate(rendering, lenient=lenient))
        hit = False
        for values, nodes in self._branches:
            if any(equals(target, value.evaluate(rendering, lenient=lenient), rendering.meter) for value in values):
                hit = True
                render_all(nodes, rendering, buffer)
        if not hit:
            render_all(self._otherwise, rendering, buffer)


class CaseTag(TemplateTag):
    """Reads `case`; a `when` after `else` is only a part of it, and a second `else` is ignored."""

    name = "case"
    end = "endcase"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        target = self.filtered(scanner)
        ends = ("when", "else", "endcase")
        branches: list[tuple[Sequence[Term], Sequence[Node]]] = []
        otherwise: list[Node] = []
        elses = 0
        read_block(self, stream, opening, ends)
        while (tag := stream.next()).value != "endcase":
            elses += tag.value == "else"
            values = _values(Scanner.of(stream.current)) if tag.value == "when" and not elses else []
            nodes = read_block(self, stream, opening, ends)
            if not elses:
                branches.append((values, nodes))
            elif elses == 1:
                otherwise.extend(nodes)
        return CaseNode(opening, target, branches, otherwise)


def _values(scanner: Scanner) -> list[Term]:
    values: list[Term] = []
    while not scanner.at_end():
        values.append(scanner.wanted_value())
        if not scanner.take(","):
            scanner.skip_past("or")
    return values
