"""JavaScript's regular expressions, run by a JavaScript engine under a time limit.

An engine counts text in UTF-16 units; `js_strings.python_offsets` turns its offsets into places of a Python string.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from tavernkit.errors import RegexError, RegexTimeout
from tavernkit.text.js_engine import EngineError, JsEngine, PatternError, SpaceUpError, TimeUpError, engine
from tavernkit.text.js_strings import utf16_length
from tavernkit.values import Value

T = TypeVar("T")

TIME_LIMIT = 0.05
"""Seconds that one call may take, and one pattern of a batch."""

BATCH_BUDGET = 1.0
"""Seconds that a whole batch may take."""

MAX_SOURCE = 10_000
"""UTF-16 units of the longest pattern: compiling cannot be interrupted, and can take 15 ms for every thousand."""

_FIRST_SLICE = 0.005
_MOST_COMPILED = 4096
_LONGEST_QUOTE = 80
_ANSWER_NOT_FOUND = -1  # the other negative answer of js_regex.js is that the memory was used up


class JsMatch(Value, frozen=True, kw_only=True):
    """Where a pattern was found. `start` and `end` count UTF-16 units; a group that took no part is None."""

    start: int
    end: int
    text: str
    groups: tuple[str | None, ...] = ()
    named: Mapping[str, str | None] = {}


class JsCut(Value, frozen=True, kw_only=True):
    """One match and the text between it and the match before; what a function given to `replace` is told.

    `groups` begins with the whole match. `named` is None where the pattern names no group. A match may begin or end
    inside a surrogate pair, whose halves are then in two texts; `js_strings.join_halves` puts them together again.
    """

    before: str
    start: int
    groups: tuple[str | None, ...]
    named: Mapping[str, str | None] | None = None


class JsRegex(Value, frozen=True, kw_only=True):
    """A pattern with its flags. `compile_regex` makes one that is known to compile."""

    source: str
    flags: str = ""

    def test(self, text: str, *, limit: float = TIME_LIMIT) -> bool:
        """Whether the pattern is found; raises RegexTimeout."""
        return self._run(bool, "test", text, limit=limit)

    def find_all(self, text: str, *, start: int = 0, limit: float = TIME_LIMIT) -> tuple[JsMatch, ...]:
        """Every match, or the first alone when there is no flag `g`; raises RegexTimeout.

        `start` is the `lastIndex` that the pattern has; only one with the flag `g` or `y` heeds it.
        """
        return tuple(
            JsMatch(start=start, end=end, text=whole, groups=tuple(groups), named=named)
            for start, end, whole, groups, named in self._run(list, "findAll", text, start, limit=limit)
        )

    def replace(self, text: str, replacement: str, *, start: int = 0, limit: float = TIME_LIMIT) -> str:
        """What `text.replace(pattern, replacement)` gives, `$1`, `$<name>` and `$&` included; raises RegexTimeout.

        `start` is the `lastIndex` that the pattern has; only one with the flag `y` and without `g` heeds it.
        """
        return self._run(str, "replace", text, replacement, start, limit=limit)

    def split(self, text: str, *, limit: float = TIME_LIMIT) -> tuple[str | None, ...]:
        """What `text.split(pattern)` gives; a group that took no part is None. Raises RegexTimeout."""
        return tuple(self._run(list, "split", text, limit=limit))

    def cut(self, text: str, *, limit: float = TIME_LIMIT) -> tuple[tuple[JsCut, ...], str]:
        """The text cut where `replace` would replace, and what is left after the last match; raises RegexTimeout."""
        cuts, rest = self._run(list, "cut", text, limit=limit)
        return tuple(
            JsCut(before=before, start=start, groups=tuple(groups), named=named)
            for before, start, groups, named in cuts
        ), rest

    def _run(self, kind: type[T], verb: str, *arguments: str | int, limit: float) -> T:
        try:
            return engine().call(kind, verb, self.source, self.flags, *arguments, limit=limit)
        except PatternError as problem:
            raise self._error(RegexError, f"is not a regular expression: {problem}.") from None
        except TimeUpError:
            advice = "Write it without repetitions inside repetitions, such as (a+)+."
            raise self._error(RegexTimeout, f"had no answer after {limit * 1000:g} ms. {advice}") from None
        except SpaceUpError:
            raise self._error(RegexTimeout, "needs more memory than it may have. Write it simpler.") from None

    def _error(self, kind: type[RegexError], problem: str) -> RegexError:
        whole = f"/{self.source}/{self.flags}"
        quote = whole if len(whole) <= _LONGEST_QUOTE else whole[:_LONGEST_QUOTE] + "…"
        return kind(f"The pattern {quote} {problem}", source=self.source, flags=self.flags)


@lru_cache(maxsize=_MOST_COMPILED)
def compile_regex(source: str, flags: str = "") -> JsRegex:
    """The pattern, once the engine has understood it; raises RegexError. Asking again costs nothing."""
    regex = JsRegex(source=source, flags=flags)
    if utf16_length(source) > MAX_SOURCE:
        raise regex._error(RegexError, f"is longer than {MAX_SOURCE} characters. Make several of it.")
    regex._run(object, "compile", limit=TIME_LIMIT)
    return regex


def first_found(patterns: Sequence[JsRegex], text: str, *, limit: float = TIME_LIMIT) -> int | None:
    """Which of the patterns is the first in the row that is found in the text; None when none is.

    Raises RegexTimeout when all of them together take longer than `limit`, which does not say which one was slow.
    """
    if len(patterns) == 1:
        return 0 if patterns[0].test(text, limit=limit) else None
    try:
        sources = [(pattern.source, pattern.flags) for pattern in patterns]
        place = engine().call(int, "firstFound", sources, text, limit=limit)
    except EngineError:
        message = f"{len(patterns)} patterns together had no answer after {limit * 1000:g} ms."
        raise RegexTimeout(message, source="", flags="") from None
    return place if place >= 0 else None


class PatternOutcome(StrEnum):
    """How it went for one pattern of a batch."""

    FOUND = "found"
    NOT_FOUND = "not_found"
    TIMED_OUT = "timed_out"  # it used up its own time or memory
    NOT_RUN = "not_run"  # others had used up the budget, or the text is too large for the engine


class PatternResult(Value, frozen=True, kw_only=True):
    """What became of one pattern; `start` is the UTF-16 offset of its first match."""

    outcome: PatternOutcome
    start: int | None = None


_NOT_FOUND = PatternResult(outcome=PatternOutcome.NOT_FOUND)
_TIMED_OUT = PatternResult(outcome=PatternOutcome.TIMED_OUT)
_NOT_RUN = PatternResult(outcome=PatternOutcome.NOT_RUN)


def search_all(
    patterns: Sequence[JsRegex], text: str, *, limit: float = TIME_LIMIT, budget: float = BATCH_BUDGET
) -> tuple[PatternResult, ...]:
    """Look for each pattern in one text; a verdict for each, in their order.

    Every pattern is first given a short time, so that a slow one cannot starve those behind it; then the slow ones get
    `limit` each, until the budget is used up.
    """
    if not patterns:
        return ()
    js = engine()
    try:
        js.call(object, "open", text, [(pattern.source, pattern.flags) for pattern in patterns], limit=budget)
    except EngineError:
        return (_NOT_RUN,) * len(patterns)
    slow, left = _sweep(js, range(len(patterns)), each=min(_FIRST_SLICE, limit), budget=budget)
    too_slow, _ = _sweep(js, slow, each=limit, budget=left)
    answers = js.call(list, "close", limit=budget)
    return tuple(_verdict(answer, timed_out=place in too_slow) for place, answer in enumerate(answers))


def _sweep(js: JsEngine, places: Sequence[int], *, each: float, budget: float) -> tuple[Sequence[int], float]:
    """Run the patterns at these places; gives those that took longer than `each`, and what is left of the budget."""
    js.call(object, "line", list(places), limit=budget)
    interrupted: list[int] = []
    start = 0
    while start < len(places) and budget > 0:
        try:
            js.call(object, "sweep", start, limit=each)
            break
        except TimeUpError:
            budget -= each
        reached = js.call(int, "reached", limit=each)
        # Only a pattern that had the whole time to itself was slow; any other starts again, at the head of the line.
        if reached == start:
            interrupted.append(places[start])
            reached += 1
        start = reached
    return interrupted, budget


def _verdict(answer: int | None, *, timed_out: bool) -> PatternResult:
    if answer is None:
        return _TIMED_OUT if timed_out else _NOT_RUN
    if answer >= 0:
        return PatternResult(outcome=PatternOutcome.FOUND, start=answer)
    return _NOT_FOUND if answer == _ANSWER_NOT_FOUND else _TIMED_OUT
