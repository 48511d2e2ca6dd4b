"""What a template consists of, once it is parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

MAX_TEMPLATE = 1_000_000
MAX_TAGS = 10_000
MAX_DEPTH = 100
MAX_OUTPUT = 16_000_000
"""Characters of the rendered text."""


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
    stripped_left: bool = False
    stripped_right: bool = False


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
