"""`assign`, `capture`, and the counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from liquid.ast import Node
from liquid.stream import TokenStream
from liquid.token import Token

from tavernkit.artifacts.liquid.conversion import as_number
from tavernkit.artifacts.liquid.data import is_number
from tavernkit.artifacts.liquid.expressions import Filtered
from tavernkit.artifacts.liquid.nodes import TemplateNode, TemplateTag, read_block, rendered
from tavernkit.artifacts.liquid.scanner import Scanner
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.text.js_numbers import number_to_string

__all__ = ["AssignTag", "CaptureTag", "DecrementTag", "IncrementTag"]


class AssignNode(TemplateNode):
    """Gives a variable a value."""

    def __init__(self, token: Token, name: str, value: Filtered) -> None:
        super().__init__(token)
        self._name = name
        self._value = value

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        del buffer
        rendering.set(self._name, self._value.evaluate(rendering, lenient=rendering.is_lenient))


class AssignTag(TemplateTag):
    """Reads `assign`."""

    name = "assign"
    block = False

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        name = scanner.name()
        if not name or not scanner.take("="):
            scanner.fail("an assignment is written {% assign name = value %}")
        return AssignNode(opening, name, self.filtered(scanner))


class CaptureNode(TemplateNode):
    """Gives a variable the text of a block."""

    def __init__(self, token: Token, name: str, nodes: Sequence[Node]) -> None:
        super().__init__(token)
        self._name = name
        self._nodes = nodes

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        del buffer
        rendering.set(self._name, rendered(self._nodes, rendering))


class CaptureTag(TemplateTag):
    """Reads `capture`, whose name may be quoted."""

    name = "capture"
    end = "endcapture"

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        name = scanner.name() or scanner.quoted_text()
        if name is None:
            scanner.fail("a capture has no name")
        nodes = read_block(self, stream, opening, ("endcapture",))
        stream.next()
        return CaptureNode(opening, name, nodes)


class CounterNode(TemplateNode):
    """Counts a value of the caller's up or down for the rest of the rendering; `assign` does not touch it."""

    def __init__(self, token: Token, name: str, change: int) -> None:
        super().__init__(token)
        self._name = name
        self._change = change

    def write(self, rendering: Rendering, buffer: TextIO) -> None:
        value = rendering.values.get(self._name)
        before = as_number(value) if is_number(value) else 0.0
        after = rendering.values[self._name] = before + self._change
        buffer.write(number_to_string(before if self._change > 0 else after))


class IncrementTag(TemplateTag):
    """Reads `increment`, which shows the number before it counts."""

    name = "increment"
    block = False
    change = 1

    def read(self, stream: TokenStream, opening: Token, scanner: Scanner) -> Node:
        del stream
        return CounterNode(opening, scanner.name(), self.change)


class DecrementTag(IncrementTag):
    """Reads `decrement`, which shows the number after it counted."""

    name = "decrement"
    change = -1
