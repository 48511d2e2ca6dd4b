"""From calls to a tree: arguments, and the blocks that an opening and a closing tag make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tavernkit.sillytavern.macros.lexer import Grammar, RawCall, scan
from tavernkit.sillytavern.macros.nodes import (
    Argument,
    MacroBody,
    MacroCall,
    Remarks,
    Shorthand,
    TemplatePart,
    TemplateParts,
)
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

if TYPE_CHECKING:
    from tavernkit.sillytavern.macros.engine import ParserMacros


class Parser:
    """Parses one text; `remarks` then says what was odd about it."""

    def __init__(self, grammar: Grammar, engine: ParserMacros, max_nesting: int) -> None:
        self._grammar = grammar
        self._engine = engine
        self._max_nesting = max_nesting
        self._deep: list[int] = []
        self._loose: list[tuple[str, int]] = []
        self.remarks = Remarks()

    def parse(self, text: str) -> TemplateParts:
        found = scan(text, self._grammar)
        self.remarks = Remarks(sorted(found.broken), self._deep, self._loose)
        return self._document(text, found.calls, 0, len(text), self._max_nesting)

    def _document(
        self, text: str, calls: Sequence[RawCall | MacroCall], start: int, end: int, nesting: int
    ) -> TemplateParts:
        """The parts of `text[start:end]`, in which `calls` are the outermost calls."""
        nodes = [node for call in calls if (node := self._node(text, call, nesting)) is not None]
        if self._grammar is Grammar.V1_15 or not any(node.closes for node in nodes if node.__class__ is MacroCall):
            return _sequence(text, nodes, start, end)
        return self._level(text, _Tags(nodes, self._engine), 0, len(nodes), start, end, nesting)

    def _level(self, text: str, tags: _Tags, low: int, high: int, start: int, end: int, nesting: int) -> TemplateParts:
        """The parts of `text[start:end]`, which holds the nodes from `low` to `high`: blocks there, bodies inside."""
        kept: list[MacroCall | Shorthand] = []
        free = _FreeClosers(tags, low, high)
        as_text: set[int] = set()
        number = low
        while number < high:
            node = tags.nodes[number]
            if not isinstance(node, MacroCall):
                kept.append(node)
            elif node.closes or number in as_text:
                if number not in as_text or node.closes:
                    self._loose.append((node.name, node.start))
            elif (closer := tags.partner(number, high)) is not None:
                if tags.depth(number) > nesting:
                    self._deep.append(node.start)
                else:
                    closing = tags.nodes[closer]
                    body = self._level(text, tags, number + 1, closer, node.end, closing.start, nesting - 1)
                    node.body = MacroBody(node.end, closing.start, closing.end, body)
                    self._engine.link(node)
                    kept.append(node)
                number = closer
            elif tags.accepts(number) or (taken := free.take(node.key, number)) is None:
                kept.append(node)
            else:
                self._loose.append((node.name, node.start))
                as_text.add(taken)
            number += 1
        return _sequence(text, kept, start, end)

    def _node(self, text: str, call: RawCall | MacroCall, nesting: int) -> MacroCall | Shorthand | None:
        if isinstance(call, MacroCall):
            self._engine.link(call)
            return call
        if call.depth > nesting:
            self._deep.append(call.start)
            return None
        if call.scope:
            return self._shorthand(text, call, nesting)
        arguments = self._arguments(text, call, nesting - 1)
        node = MacroCall(call.start, call.end, call.flags, call.name, arguments)
        node.closes = "/" in call.flags or (call.name == "//" and _starts_with_slash(text, call))
        self._engine.link(node)
        return node

    def _arguments(self, text: str, call: RawCall, nesting: int) -> tuple[Argument, ...]:
        arguments = []
        children = call.children
        first = 0
        for number, (start, end) in enumerate(call.arguments):
            last = first
            while last < len(children) and children[last].start < end:
                last += 1
            inside = children[first:last]
            first = last
            if call.spoiled is not None and number in call.spoiled:
                arguments.append(self._spoiled(text, inside, call.spoiled[number], start, end, nesting))
            elif not inside:
                arguments.append(Argument(start, end, text[start:end]))
            else:
                arguments.append(Argument(start, end, None, self._document(text, inside, start, end, nesting)))
        return tuple(arguments)

    def _spoiled(
        self, text: str, inside: Sequence[RawCall | MacroCall], heads: Sequence[int], start: int, end: int, nesting: int
    ) -> Argument:
        """An argument with a broken call in it. 1.19 reads it again; 1.15 does not, as 1.19 does not read values."""
        if self._grammar is Grammar.V1_19:
            return self._again(text, start, end, nesting)
        nodes = [node for call in inside if (node := self._node(text, call, nesting)) is not None]
        return Argument(start, end, None, _with_ends(text, nodes, heads, start, end))

    def _again(self, text: str, start: int, end: int, nesting: int) -> Argument:
        """Read an argument as a text of its own, where openers are found by other rules than in arguments."""
        found = scan(text[start:end], self._grammar)
        for call in found.calls:
            _move(call, start)
        return Argument(start, end, None, self._document(text, found.calls, start, end, nesting))

    def _shorthand(self, text: str, call: RawCall, nesting: int) -> Shorthand:
        value = None
        if call.arguments:
            start, end = call.arguments[0]
            if call.children or call.spoiled is not None:
                nodes = [node for child in call.children if (node := self._node(text, child, nesting - 1)) is not None]
                heads = (call.spoiled or {}).get(0, [])
                value = Argument(start, end, None, _with_ends(text, nodes, heads, start, end))
            else:
                value = Argument(start, end, js_trim(text[start:end]))
        scope = "local" if call.scope == "." else "global"
        return Shorthand(call.start, call.end, scope, call.name, call.operator, value)


class _Tags:
    """The nodes of one text, with openers and closers of each name matched as brackets are."""

    def __init__(self, nodes: Sequence[MacroCall | Shorthand], engine: ParserMacros) -> None:
        self.nodes = nodes
        self._accepting: set[int] = set()
        self.partners: dict[int, int] = {}
        self.closers: dict[str, list[int]] = {}
        self._depths: dict[int, int] = {}
        waiting: dict[str, list[int]] = {}
        for number, node in enumerate(nodes):
            if not isinstance(node, MacroCall):
                continue
            if node.closes:
                self.closers.setdefault(node.key, []).append(number)
                openers = waiting.get(node.key)
                if openers:
                    opener = openers.pop()
                    self.partners[opener] = number
                    self.partners[number] = opener
            elif engine.accepts_body(node):
                self._accepting.add(number)
                waiting.setdefault(node.key, []).append(number)

        self._measure()

    def _measure(self) -> None:
        """How many blocks stand inside one another, counted from the inside."""
        count = len(self.nodes)
        following = [count] * (count + 2)
        for number in range(count - 1, -1, -1):
            partner = self.partners.get(number, -1)
            following[number] = following[number + 1]
            if partner > number:
                inner = following[number + 1]
                depth = 0
                while inner < partner:
                    depth = max(depth, self._depths[inner])
                    inner = following[self.partners[inner] + 1]
                self._depths[number] = depth + 1
                following[number] = number

    def depth(self, opener: int) -> int:
        return self._depths.get(opener, 1)

    def accepts(self, number: int) -> bool:
        return number in self._accepting

    def partner(self, opener: int, high: int) -> int | None:
        closer = self.partners.get(opener, high)
        return closer if closer < high else None


class _FreeClosers:
    """The closers of a stretch that no opener in it may have: an opener that takes no body pairs with them as text."""

    def __init__(self, tags: _Tags, low: int, high: int) -> None:
        self._tags = tags
        self._low = low
        self._high = high
        self._left: dict[str, list[int]] = {}

    def take(self, key: str, opener: int) -> int | None:
        """The first one after `opener`, which nobody can take again."""
        left = self._left.get(key)
        if left is None:
            left = self._left[key] = [
                closer
                for closer in reversed(self._tags.closers.get(key, ()))
                if self._low <= closer < self._high and self._tags.partners.get(closer, -1) < self._low
            ]
        while left and left[-1] <= opener:
            left.pop()
        return left.pop() if left else None


def _sequence(text: str, nodes: Sequence[MacroCall | Shorthand], start: int, end: int) -> TemplateParts:
    """The nodes with the text between them."""
    parts: list[TemplatePart] = []
    place = start
    for node in nodes:
        if node.start > place:
            parts.append(text[place : node.start])
        parts.append(node)
        place = node.body.closing_end if isinstance(node, MacroCall) and node.body is not None else node.end
    if place < end:
        parts.append(text[place:end])
    return tuple(parts)


def _with_ends(
    text: str, nodes: Sequence[MacroCall | Shorthand], heads: Sequence[int], start: int, end: int
) -> tuple[TemplatePart, ...]:
    """A value that is not read again: broken calls without a name in it print their heads with an end."""
    parts: list[TemplatePart] = []
    first = 0
    for head in heads:
        last = first
        while last < len(nodes) and nodes[last].start < head:
            last += 1
        parts += (*_sequence(text, nodes[first:last], start, head), "}}")
        first, start = last, head
    return (*parts, *_sequence(text, nodes[first:], start, end))


def _starts_with_slash(text: str, call: RawCall) -> bool:
    """Whether the first thing that is no call in a comment's first argument is a slash: then the comment closes one."""
    if not call.arguments:
        return False
    place, end = call.arguments[0]
    for child in call.children:
        if child.start == place:
            place = child.end
            while place < end and text[place] in JS_WHITESPACE:
                place += 1
    return text.startswith("/", place) and place < end


def _move(call: RawCall | MacroCall, distance: int) -> None:
    """Count the places of a call, and of those in it, from further back."""
    waiting = [call]
    while waiting:
        moved = waiting.pop()
        moved.start += distance
        moved.end += distance
        if isinstance(moved, RawCall):
            moved.arguments = [(start + distance, end + distance) for start, end in moved.arguments]
            waiting.extend(moved.children)
        else:
            for argument in moved.arguments:
                argument.start += distance
                argument.end += distance
