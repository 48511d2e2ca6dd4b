"""The legacy engine: one pass over the whole text for every kind of macro, in a fixed order.

It knows no nesting: a call inside another is expanded when its own pass comes, and only the order of the passes decides
what the outer call then gets to see. Cards rely on that, so nothing here is tidier than it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from itertools import chain, islice

from tavernkit.macros.engine import MacroEnvironment
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.tracing import expanded_by_passes
from tavernkit.sillytavern.macros.environment import Environment, as_environment
from tavernkit.sillytavern.macros.legacy.named_values import MARKER_PASSES, expanded_card, named_passes
from tavernkit.sillytavern.macros.legacy.order import PASSES_AFTER_NAMES, PASSES_BEFORE_NAMES
from tavernkit.sillytavern.macros.legacy.passes import Heads, LegacyExpansion, Pass, folded
from tavernkit.sillytavern.macros.problems import LimitReached, MacroLimits, MacroProblem, ProblemCode, ProblemHandler

_LIMITS = MacroLimits()


class LegacyMacros:
    """Expands texts as SillyTavern 1.15 does while its parser engine is switched off."""

    def __init__(self, *, limits: MacroLimits = _LIMITS, on_problem: ProblemHandler | None = None) -> None:
        self.limits = limits
        self._on_problem = on_problem

    def expand(self, text: str, environment: MacroEnvironment, *, on_problem: ProblemHandler | None = None) -> str:
        """The text with its macros replaced; the text itself when that would cost too much."""
        if not _may_hold_macros(text):
            return text
        if isinstance(text, TracedText):
            return expanded_by_passes(text, self.expand(str(text), environment, on_problem=on_problem))
        on_problem = on_problem or self._on_problem
        read = as_environment(environment)
        try:
            result = self._expand(text, read)
        except LimitReached as reached:
            if on_problem is not None:
                message = f"The text was left as it is: {reached}."
                on_problem(MacroProblem(code="macro_limit", message=message, name="", position=0))
            return text
        if on_problem is not None:
            for problem in leftovers(text, result, _passes(read)):
                on_problem(problem)
        return result

    def _expand(self, text: str, environment: Environment) -> str:
        if not _may_hold_macros(text):
            return text
        card = expanded_card(environment, self._expand)
        expansion = LegacyExpansion(text, environment, card, expand=self._expand, limits=self.limits)
        heads = Heads(text)
        for kind in _passes(environment):
            if heads.may_hold(kind.heads):
                text = kind.run(text, expansion)
                if heads.tangled or expansion.took_opening:
                    heads = Heads(text)
                    expansion.took_opening = False
        return text


def _may_hold_macros(text: str) -> bool:
    return "{{" in text or "<" in text


def _passes(environment: Environment) -> Iterator[Pass]:
    return chain(MARKER_PASSES, PASSES_BEFORE_NAMES, named_passes(environment), PASSES_AFTER_NAMES)


MAX_PROBLEMS = 100

_LEFT = re.compile(r"\{\{(?:(//|[A-Za-z][A-Za-z0-9_-]*)[^{}]*\}\})?")
_NAME = re.compile(rb"\{\{(//|[a-z][a-z0-9_-]*)")


def leftovers(given: str, result: str, passes: Iterable[Pass]) -> Iterator[MacroProblem]:
    """The first hundred macros that are left, in the order of the result."""
    openings = {opening for kind in passes for opening in kind.openings}
    names = {match[1] for opening in openings if (match := _NAME.match(opening))}
    searched = 0
    for left in islice(_LEFT.finditer(result), MAX_PROBLEMS):
        place = _place(given, left, searched)
        if place is not None:
            searched = place + len(left[0])
        code, message = _verdict(left, openings, names)
        position = left.start() if place is None else place
        yield MacroProblem(code=code, message=message, name=left[1] or "", position=position)


def _place(given: str, left: re.Match[str], start: int) -> int | None:
    """Where the same thing stands in the text that was given, unless it came out of a value."""
    if left[1]:
        place = given.find(left[0], start)
        return None if place < 0 else place
    return next((match.start() for match in _LEFT.finditer(given, start) if not match[1]), None)


def _verdict(left: re.Match[str], openings: Set[bytes], names: Set[bytes]) -> tuple[ProblemCode, str]:
    name = left[1]
    if not name:
        return "macro_syntax", "A call opens here that is malformed or has no end."
    if folded(left[0]) in openings:
        return "unconsumed_macro", f"The placeholder {name!r} came out of a value, too late for its own pass."
    if folded(name) in names:
        return "macro_syntax", f"The legacy engine does not understand {{{{{name}}}}} when it is called like this."
    return "unknown_macro", f"There is no macro {name!r}."
