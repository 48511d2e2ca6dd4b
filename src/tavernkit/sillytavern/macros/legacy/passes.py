"""One pass: the calls of one kind, replaced over the whole text before the next kind is looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.legacy.scanning import Finder
from tavernkit.sillytavern.macros.problems import LimitReached, MacroFailure, MacroLimits
from tavernkit.text.seeded import string_hash

_HEAD = re.compile(rb"<[a-z]+>|\{\{(?:[a-z0-9_]+|//)")
# The beginning of a call right before another call: what that one leaves behind may become part of the name.
_TANGLE = re.compile(rb"\{\{[a-z0-9_/\r\n]*[{<]|\{[\r\n]+\{|\{<|<[a-z]*<")


def folded(text: str) -> bytes:
    """The text's bytes with `A` to `Z` made small, as macros compare their names."""
    return text.encode("utf-8", "surrogatepass").lower()


def heads_of(openings: tuple[bytes, ...]) -> frozenset[bytes] | None:
    """How calls with these openings begin; None when one of them begins in a way that is not looked for."""
    heads = [_HEAD.match(opening) for opening in openings]
    found = frozenset(head[0] for head in heads if head is not None)
    return found if len(heads) == sum(head is not None for head in heads) else None


class Heads:
    """The beginnings of calls in a text; `tangled` when a replacement, whatever its value, may complete another."""

    def __init__(self, text: str) -> None:
        data = folded(text)
        self._found = set(_HEAD.findall(data))
        self.tangled = _TANGLE.search(data) is not None

    def may_hold(self, heads: frozenset[bytes] | None) -> bool:
        return heads is None or not self._found.isdisjoint(heads)


@dataclass(eq=False)
class LegacyExpansion:
    """One text being expanded: its environment, the card's texts by their macros' names, and what it has cost.

    `expand` expands another text on the way.
    """

    raw: str
    environment: Environment
    card: Mapping[str, str]
    expand: Callable[[str, Environment], str]
    limits: MacroLimits
    steps: int = 0
    took_opening: bool = False

    @cached_property
    def raw_hash(self) -> int:
        """The hash of the text before any pass, which decides what `{{pick}}` picks."""
        return string_hash(self.raw)

    def processed(self, value: str) -> str:
        """The answer of a macro as the caller wants it in the text."""
        post_process = self.environment.post_process
        return value if post_process is None else post_process(value)

    def take(self, value: str, *, calls: int, length: int) -> None:
        """Count as `spend` does, and note in `took_opening` whether the value may bring new calls into the text."""
        self.spend(calls=calls, length=length)
        if "{" in value or "<" in value:
            self.took_opening = True

    def spend(self, *, calls: int, length: int) -> None:
        """Count calls that are about to be replaced, and the length of the text after that; raises LimitReached."""
        self.steps += calls
        if self.steps > self.limits.steps:
            raise LimitReached(f"more than {self.limits.steps:,} calls")
        if length > self.limits.output:
            raise LimitReached(f"more than {self.limits.output:,} characters")


class Pass(Protocol):
    """A kind of call. Every call of it begins with one of the openings, in any case."""

    @property
    def openings(self) -> tuple[bytes, ...]: ...

    @property
    def heads(self) -> frozenset[bytes] | None: ...

    def run(self, text: str, expansion: LegacyExpansion) -> str: ...


@lru_cache(maxsize=1024)
def any_case(source: str) -> re.Pattern[str]:
    """A pattern that ignores case as JavaScript does without its Unicode flag: there, the long s is no s."""
    return re.compile(source, re.IGNORECASE | re.ASCII if source.isascii() else re.IGNORECASE)


class NamePass:
    """Literal texts, such as `{{user}}` or `<BOT>`, in any case, that stand for one value; with `once`, only the first
    does, and the others stand for nothing."""

    def __init__(self, *literals: str, value: Callable[[LegacyExpansion], str], once: bool = False) -> None:
        self.openings = tuple(folded(literal) if literal.isascii() else b"" for literal in literals)
        self.heads = heads_of(self.openings)
        self._pattern = any_case("|".join(map(re.escape, literals)))
        self._value = value
        self._once = once

    def run(self, text: str, expansion: LegacyExpansion) -> str:
        before, *after = self._pattern.split(text)
        if not after:
            return text
        value = expansion.processed(self._value(expansion))
        expansion.take(value, calls=len(after), length=len(text) + len(after) * len(value))
        return before + value + "".join(after) if self._once else value.join((before, *after))


class CallPass:
    """Calls with something to capture; `value` is given what was captured.

    Where one of them cannot be answered, all of them stay as they are, though what they did has been done.
    """

    def __init__(self, opening: str, find: Finder, value: Callable[..., str]) -> None:
        self.openings = (folded(opening),)
        self.heads = heads_of(self.openings)
        self._find = find
        self._value = value

    def run(self, text: str, expansion: LegacyExpansion) -> str:
        pieces: list[str] = []
        length = len(text)
        end = 0
        try:
            for call in self._find(text):
                value = expansion.processed(self._value(expansion, *call.arguments))
                length += len(value)
                expansion.take(value, calls=1, length=length)
                pieces += (text[end : call.start], value)
                end = call.end
        except MacroFailure:
            return text
        return "".join((*pieces, text[end:])) if pieces else text
