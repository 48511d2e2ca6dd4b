"""What a template consists of, once it is parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Strip(NamedTuple):
    """Whether a tag has a `~` at its beginning and at its end."""

    before: bool = False
    after: bool = False


class Path(NamedTuple):
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
class Literal:
    """A text, a number, `true`, `false`, `null` or `undefined`; `text` is how it was written, without quotes."""

    text: str
    value: str | float | bool | None


class Call(NamedTuple):
    """A name with arguments, or without any; named arguments count, but nothing here reads them."""

    target: Path | Literal
    arguments: tuple[Expression, ...]
    has_named: bool
    position: int


Expression: TypeAlias = Path | Literal | Call


@dataclass(slots=True)
class Text:
    """Text between tags. `original` is what was written, `value` what white space control has left of it."""

    original: str
    value: str
    stripped_left: bool = False
    stripped_right: bool = False


class Output(NamedTuple):
    """A tag that writes a value."""

    call: Call
    strip: Strip


@dataclass(frozen=True, slots=True)
class Comment:
    """A tag that writes nothing."""

    strip: Strip


@dataclass(slots=True)
class Body:
    """The nodes of a template or of one arm of a block; `chain` is the block that an `else if` makes of its arm."""

    nodes: list[Node] = field(default_factory=list)
    chain: Block | None = None


@dataclass(slots=True)
class Block:
    """A block with one arm or two; `inverted` if the first is the one that is shown for an empty value.

    The strips are those of its three tags.
    """

    call: Call
    first: Body
    second: Body | None
    inverted: bool
    open_strip: Strip
    middle_strip: Strip
    close_strip: Strip

    @property
    def main(self) -> Body | None:
        return self.second if self.inverted else self.first

    @property
    def inverse(self) -> Body | None:
        return self.first if self.inverted else self.second


Node: TypeAlias = Text | Output | Comment | Block
