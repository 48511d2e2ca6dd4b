"""The legacy engine: one pass over the whole text for every kind of macro, in a fixed order.

It knows no nesting: a call inside another is expanded when its own pass comes, and only the order of the passes decides
what the outer call then gets to see. Cards rely on that, so nothing here is tidier than it is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tavernkit.macros.engine import MacroEnvironment
from tavernkit.sillytavern.macros.environment import Environment, as_environment
from tavernkit.sillytavern.macros.legacy.leftovers import leftovers
from tavernkit.sillytavern.macros.legacy.named_values import MARKER_PASSES, expanded_card, named_passes
from tavernkit.sillytavern.macros.legacy.order import PASSES_AFTER_NAMES, PASSES_BEFORE_NAMES
from tavernkit.sillytavern.macros.legacy.passes import Heads, LegacyExpansion, Pass
from tavernkit.sillytavern.macros.problems import LimitReached, MacroLimits, MacroProblem, ProblemHandler

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
