"""What a template consists of once it is parsed, and the white space around its tags."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tavernkit.text.js_strings import JS_WHITESPACE

MAX_TEMPLATE = 1_000_000
MAX_TAGS = 10_000
MAX_DEPTH = 100
MAX_OUTPUT = 16_000_000
"""Characters of the rendered text."""


Edge: TypeAlias = Literal["start", "end"]


class Strip(NamedTuple):
    """Whether a tag has a `~` at its beginning and at its end."""

    before: bool = False
    after: bool = False


class HandlebarsPath(NamedTuple):
    """A name such as `description`, `../char`, `this` or `@root.user`.

    `up` is how many contexts it climbs; `data` marks the names that begin with `@`. `text` is how it was written.
    """

    text: str
    parts: tuple[str, ...]
    up: int = 0
    data: bool = False
    scoped: bool = False

    @property
    def is_plain_name(self) -> bool:
        """Only such a name can be a helper."""
        return len(self.parts) == 1 and not (self.up or self.data or self.scoped)


@dataclass(frozen=True, slots=True)
class HandlebarsLiteral:
    """A text, a number, `true`, `false`, `null` or `undefined`; `text` is how it was written, without quotes."""

    text: str
    value: str | float | bool | None


class HandlebarsCall(NamedTuple):
    """A name with arguments, or without any; named arguments count, but nothing here reads them."""

    target: HandlebarsPath | HandlebarsLiteral
    arguments: tuple[Expression, ...]
    has_named: bool
    position: int


Expression: TypeAlias = HandlebarsPath | HandlebarsLiteral | HandlebarsCall


@dataclass(slots=True)
class HandlebarsText:
    """Text between tags. `original` is what was written, `value` what white space control has left of it."""

    original: str
    value: str
    stripped: dict[Edge, bool] = field(default_factory=dict)


class HandlebarsOutput(NamedTuple):
    """A tag that writes a value."""

    call: HandlebarsCall
    strip: Strip


@dataclass(frozen=True, slots=True)
class Comment:
    """A tag that writes nothing."""

    strip: Strip


@dataclass(slots=True)
class HandlebarsBody:
    """The nodes of a template or of one arm of a block; `chain` is the block that an `else if` makes of its arm."""

    nodes: list[Node] = field(default_factory=list)
    chain: HandlebarsBlock | None = None


@dataclass(slots=True)
class HandlebarsBlock:
    """A block with one arm or two; `inverted` if the first is the one that is shown for an empty value.

    The strips are those of its three tags.
    """

    call: HandlebarsCall
    first: HandlebarsBody
    second: HandlebarsBody | None
    inverted: bool
    open_strip: Strip
    middle_strip: Strip
    close_strip: Strip

    @property
    def main(self) -> HandlebarsBody | None:
        return self.second if self.inverted else self.first

    @property
    def inverse(self) -> HandlebarsBody | None:
        return self.first if self.inverted else self.second


Node: TypeAlias = HandlebarsText | HandlebarsOutput | Comment | HandlebarsBlock


_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n)?")


def control_whitespace(body: HandlebarsBody, *, is_root: bool = False) -> None:
    """Change the values of all texts of a template, or of one arm of a block."""
    nodes = body.nodes
    for place, node in enumerate(nodes):
        match node:
            case HandlebarsText():
                continue
            case HandlebarsOutput() | Comment():
                if node.strip.after:
                    _strip(nodes, place + 1, "start")
                if node.strip.before:
                    _strip(nodes, place - 1, "end")
                alone = _line_starts(nodes, place, is_root) and _line_ends(nodes, place, is_root)
                if isinstance(node, Comment) and alone:
                    _strip(nodes, place + 1, "start", line=True)
                    _strip(nodes, place - 1, "end", line=True)
            case HandlebarsBlock():
                _control_block(node, nodes, place, is_root)


def _control_block(block: HandlebarsBlock, nodes: list[Node], place: int, is_root: bool) -> None:
    first = block.first
    control_whitespace(first)
    if block.second is not None:
        control_whitespace(block.second)
    _control_inside(block)
    # In a chain this looks at the arm behind the first `else`, though it is the last one that the closing tag ends.
    before_end = first if block.second is None else _first_of_chain(block.second)
    opens_alone = _line_ends(first.nodes, -1) and _line_starts(nodes, place, is_root)
    closes_alone = _line_starts(before_end.nodes, len(before_end.nodes)) and _line_ends(nodes, place, is_root)
    if block.close_strip.after:
        _strip(nodes, place + 1, "start")
    if block.open_strip.before:
        _strip(nodes, place - 1, "end")
    if opens_alone:
        _strip(first.nodes, 0, "start", line=True)
        _strip(nodes, place - 1, "end", line=True)
    if closes_alone:
        _strip(nodes, place + 1, "start", line=True)
        end = block.inverse or first
        _strip(end.nodes, len(end.nodes) - 1, "end", line=True)


def _control_inside(block: HandlebarsBlock) -> None:
    first = block.first.nodes
    if block.open_strip.after:
        _strip(first, 0, "start")
    if block.second is None:
        if block.close_strip.before:
            _strip(first, len(first) - 1, "end")
        return
    second, last = _first_of_chain(block.second).nodes, _last_of_chain(block.second).nodes
    if block.middle_strip.before:
        _strip(first, len(first) - 1, "end")
    if block.middle_strip.after:
        _strip(second, 0, "start")
    if block.close_strip.before:
        _strip(last, len(last) - 1, "end")
    if _line_starts(first, len(first)) and _line_ends(second, -1):
        _strip(first, len(first) - 1, "end", line=True)
        _strip(second, 0, "start", line=True)


def _first_of_chain(arm: HandlebarsBody) -> HandlebarsBody:
    return arm if arm.chain is None else arm.chain.first


def _last_of_chain(arm: HandlebarsBody) -> HandlebarsBody:
    while arm.chain is not None:
        arm = arm.chain.first
    return arm


def _text(nodes: list[Node], place: int) -> HandlebarsText | None:
    node = nodes[place] if 0 <= place < len(nodes) else None
    return node if isinstance(node, HandlebarsText) else None


def _line_starts(nodes: list[Node], place: int, is_root: bool = False) -> bool:
    """Whether nothing but white space stands on the line before the node at this place."""
    if place == 0:
        return is_root
    text = _text(nodes, place - 1)
    if text is None:
        return False
    kept = text.original.rstrip(JS_WHITESPACE)
    return "\n" in text.original[len(kept) :] or (is_root and place == 1 and not kept)


def _line_ends(nodes: list[Node], place: int, is_root: bool = False) -> bool:
    """Whether nothing but white space stands on the line behind the node at this place."""
    if place + 1 >= len(nodes):
        return is_root
    text = _text(nodes, place + 1)
    if text is None:
        return False
    kept = text.original.lstrip(JS_WHITESPACE)
    space = text.original[: len(text.original) - len(kept)]
    return "\n" in space or (is_root and place + 2 >= len(nodes) and not kept)


def _strip(nodes: list[Node], place: int, edge: Edge, *, line: bool = False) -> None:
    """Take the white space from an edge of the text at this place; of a line only what ends or begins it, and once."""
    text = _text(nodes, place)
    if text is None or (line and text.stripped.get(edge)):
        return
    if edge == "end":
        stripped = text.value.rstrip(" \t" if line else JS_WHITESPACE)
    else:
        stripped = _REST_OF_LINE.sub("", text.value, count=1) if line else text.value.lstrip(JS_WHITESPACE)
    text.stripped[edge] = stripped != text.value
    text.value = stripped
