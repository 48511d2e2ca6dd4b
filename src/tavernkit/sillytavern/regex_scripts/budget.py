"""What scripts may cost: time for all of them together, and patience with each."""

from __future__ import annotations

import time
from collections.abc import Callable

from tavernkit.sillytavern.regex_scripts.script import RegexScript
from tavernkit.text.time_budget import TimeBudget

SECONDS = 1.0
STRIKES = 3


class RegexBudget(TimeBudget):
    """The time that scripts may take together, and what has been learnt about the bad ones among them.

    One that is made for a whole build and given to every application keeps hostile scripts from being tried on each
    message anew.
    """

    def __init__(self, seconds: float = SECONDS, *, clock: Callable[[], float] = time.process_time) -> None:
        super().__init__(seconds, clock=clock)
        self._strikes: dict[tuple[str, ...], int] = {}
        self._told: set[tuple[str, ...]] = set()

    def strike(self, script: RegexScript) -> bool:
        """Note that a script cost too much; True when it is not to be tried again."""
        key = _key(script)
        self._strikes[key] = self._strikes.get(key, 0) + 1
        return self.is_out(script)

    def is_out(self, script: RegexScript) -> bool:
        """Whether a script has cost too much too often."""
        return bool(self._strikes) and self._strikes.get(_key(script), 0) >= STRIKES

    def is_news(self, *what: str) -> bool:
        """Whether this is said for the first time."""
        known = what in self._told
        self._told.add(what)
        return not known


def _key(script: RegexScript) -> tuple[str, ...]:
    return script.id, script.scriptName, script.findRegex, script.replaceString
