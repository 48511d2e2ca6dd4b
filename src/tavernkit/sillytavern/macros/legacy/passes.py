"""One pass: the calls of one kind, replaced over the whole text before the next kind is looked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from tavernkit.sillytavern.macros.legacy.expansion import LegacyExpansion
from tavernkit.sillytavern.macros.legacy.heads import folded, heads_of
from tavernkit.sillytavern.macros.legacy.scanning import Finder
from tavernkit.sillytavern.macros.problems import MacroFailure


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
    """Literal texts, such as `{{user}}` or `<BOT>`, in any case, that stand for one value."""

    def __init__(self, *literals: str, value: Callable[[LegacyExpansion], str]) -> None:
        self.openings = tuple(folded(literal) if literal.isascii() else b"" for literal in literals)
        self.heads = heads_of(self.openings)
        self._pattern = any_case("|".join(map(re.escape, literals)))
        self._value = value

    def run(self, text: str, expansion: LegacyExpansion) -> str:
        pieces = self._pattern.split(text)
        if len(pieces) == 1:
            return text
        value = expansion.processed(self._value(expansion))
        calls = len(pieces) - 1
        expansion.take(value, calls=calls, length=len(text) + calls * len(value))
        return value.join(pieces)


class OncePass(NamePass):
    """A literal text whose value is given once; where it stands again, it stands for nothing."""

    def run(self, text: str, expansion: LegacyExpansion) -> str:
        before, *after = self._pattern.split(text)
        if not after:
            return text
        value = expansion.processed(self._value(expansion))
        expansion.take(value, calls=len(after), length=len(text) + len(value))
        return before + value + "".join(after)


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
