"""`for`, `tablerow`, `cycle`, and the ways out of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from liquid.ast import Node
from liquid.stream import TokenStream
from liquid.token import Token

from tavernkit.artifacts.liquid.comparing import is_falsy
from tavernkit.artifacts.liquid.conversion import index, js_add, js_number, sliced, to_text
from tavernkit.artifacts.liquid.data import (
    UNDEFINED,
    ForLoop,
    TableRowLoop,
    is_array,
    is_object,
    object_keys,
    plain,
)
from tavernkit.artifacts.liquid.expressions import Filtered, Term
from tavernkit.artifacts.liquid.nodes import TemplateNode, TemplateTag, read_block, refuse_text, render_all
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_numbers import number_to_string

__all__ = ["BreakTag", "ContinueTag", "CycleTag", "ForTag", "TableRowTag", "enumerated", "named_values"]


def enumerated(value: object) -> Sequence[object]:
    """What a loop goes through: members, a text as one, an object as pairs."""
    value = plain(value)
    if is_array(value):
        return value
    if isinstance(value, str):
        return [value] if value else []
    if is_object(value):
        return [[key, value[key]] for key in object_keys(value)]
    return []


def named_values(pairs: Mapping[str, Term | None], rendering: Rendering) -> dict[str, object]:
    """The values of `name: value` pairs; a name alone is true."""
    return {name: True if term is None else term.evaluate(rendering) for name, term in pairs.items()}


class ForNode(TemplateNode):
    """A loop. Its `else` is for collections that are empty from the start."""

    def __init__(
        self,
        token: Token,
        variable: str,
        collection: Term,
        options: Mapping[str, Term | None],
        nodes: Sequence[Node],
        otherwise: Sequence[Node],
    ) -> None:
        super().__init__(token)
        self._variable = variable
        self._collection = collection
        self._options = options
        self._nodes = nodes
        self._otherwise = otherwise

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        items = enumerated(self._collection.evaluate(rendering))
        if not items:
            return render_all(self._otherwise, rendering, buffer)
        items = self._selected(items, rendering)
        if items and self._variable == "forloop":
            raise CannotRenderError("a loop's variable cannot be called forloop, which is where the loop itself is")
        loop = ForLoop(len(items), f"{self._variable}-{self._collection.text}")
        names: dict[str, object] = {"forloop": loop}
        with rendering.scoped(names):
            for item in items:
                rendering.meter.turn()
                names[self._variable] = item
                rendering.continues = rendering.breaks = False
                render_all(self._nodes, rendering, buffer)
                if rendering.breaks:
                    break
                loop.place += 1
        rendering.continues = rendering.breaks = False
        return None

    def _selected(self, items: Sequence[object], rendering: Rendering) -> Sequence[object]:
        """The items after offset, limit and reversed, in this order; where it ends is kept for `offset:continue`."""
        register = f"continue-{self._variable}-{self._collection.text}"
        meter = rendering.meter
        with rendering.scoped({"continue": rendering.registers.get(register, {})}):
            options = named_values(self._options, rendering)
        offset = options.get("offset", UNDEFINED)
        if offset is not UNDEFINED:
            items = items[sliced(len(items), index(offset, meter), len(items))]
        if options.get("limit", UNDEFINED) is not UNDEFINED:
            items = items[sliced(len(items), 0, index(options["limit"], meter))]
        if options.get("reversed", UNDEFINED) is not UNDEFINED:
            items = items[::-1]
        rendering.registers[register] = js_add(_or_zero(offset), len(items), meter)
        return items


def _or_zero(value: object) -> object:
    """`value || 0`."""
    return 0.0 if is_falsy(value) else value


class ForTag(TemplateTag):
    """Reads `for`."""

    name = "for"
    end = "endfor"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        variable, preposition, collection = scanner.name(), scanner.name(), scanner.value()
        if not variable or preposition != "in" or collection is None:
            scanner.fail("a loop is written {% for item in list %}")
        options = scanner.hash()
        nodes = read_block(self, stream, opening, ("else", "endfor"))
        otherwise: list[Node] = []
        while (tag := stream.next()).value == "else":
            refuse_text(stream, tag)
            otherwise.extend(read_block(self, stream, opening, ("else", "endfor")))
        refuse_text(stream, tag)
        return ForNode(opening, variable, collection, options, nodes, otherwise)


class TableRowNode(TemplateNode):
    """A loop that writes an HTML table."""

    def __init__(
        self,
        token: Token,
        variable: str,
        collection: Term,
        options: Mapping[str, Term | None],
        nodes: Sequence[Node],
    ) -> None:
        super().__init__(token)
        self._variable = variable
        self._collection = collection
        self._options = options
        self._nodes = nodes

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        meter = rendering.meter
        items = enumerated(self._collection.evaluate(rendering))
        options = named_values(self._options, rendering)
        offset = _or_zero(options.get("offset", UNDEFINED))
        limit = options.get("limit", UNDEFINED)
        stop = js_add(offset, len(items) if limit is UNDEFINED else limit, meter)
        items = items[sliced(len(items), index(offset, meter), index(stop, meter))]
        columns = options.get("cols", UNDEFINED)
        columns = len(items) if is_falsy(columns) else columns
        loop = TableRowLoop(len(items), js_number(columns, meter), columns, f"{self._variable}-{self._collection.text}")
        names: dict[str, object] = {"tablerowloop": loop}
        with rendering.scoped(names):
            for item in items:
                meter.turn()
                names[self._variable] = item
                if loop.column0 == 0:
                    row = number_to_string(loop.row)
                    buffer.write(f'{"</tr>" if loop.row != 1 else ""}<tr class="row{row}">')
                buffer.write(f'<td class="col{loop.cell()}">')
                render_all(self._nodes, rendering, buffer)
                buffer.write("</td>")
                loop.place += 1
        if items:
            buffer.write("</tr>")


class TableRowTag(TemplateTag):
    """Reads `tablerow`."""

    name = "tablerow"
    end = "endtablerow"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        variable, preposition, collection = scanner.name(), scanner.name(), scanner.value()
        if preposition != "in" or collection is None:
            scanner.fail("a table is written {% tablerow item in list %}")
        options = scanner.hash()
        nodes = read_block(self, stream, opening, ("endtablerow",))
        stream.next()
        return TableRowNode(opening, variable, collection, options, nodes)


class BreakNode(TemplateNode):
    """Ends the loop, or the template when there is none."""

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        del buffer
        rendering.breaks = True


class BreakTag(TemplateTag):
    """Reads `break`."""

    name = "break"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream, scanner
        return BreakNode(opening)


class ContinueNode(TemplateNode):
    """Goes on with the next item, or ends the template when there is no loop."""

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        del buffer
        rendering.continues = True


class ContinueTag(TemplateTag):
    """Reads `continue`."""

    name = "continue"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream, scanner
        return ContinueNode(opening)


class CycleNode(TemplateNode):
    """The next of its values, which tags with the same text share; what JavaScript takes for false prints nothing."""

    def __init__(self, token: Token, group: Term | None, candidates: Sequence[Filtered], text: str) -> None:
        super().__init__(token)
        self._group = group
        self._candidates = candidates
        self._text = text

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        group = "" if self._group is None else to_text(self._group.evaluate(rendering), rendering.meter)
        key = f"cycle:{self._group is not None}:{group}:{self._text}"
        place = rendering.registers.get(key, 0)
        rendering.registers[key] = (place + 1) % len(self._candidates)
        value = self._candidates[place].evaluate(rendering)
        if not is_falsy(value):
            buffer.write(to_text(value, rendering.meter))


class CycleTag(TemplateTag):
    """Reads `cycle`."""

    name = "cycle"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        group = scanner.value()
        if group is None or not scanner.take(":"):
            group, scanner.place = None, 0
        text = scanner.rest()
        candidates: list[Filtered] = []
        while not scanner.at_end():
            candidates.append(self.filtered(scanner))
            scanner.skip_past(",")
            scanner.skip_blank()
        if not candidates:
            scanner.fail("a cycle has no values")
        return CycleNode(opening, group, candidates, text)
