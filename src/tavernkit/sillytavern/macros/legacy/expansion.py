"""What the passes of one expansion share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.limits import LimitReached, MacroLimits
from tavernkit.text.seeded import string_hash


class LegacyExpansion:
    """One text being expanded: its environment, the card's texts by their macros' names, and what it has cost.

    `expand` expands another text on the way.
    """

    def __init__(
        self,
        raw: str,
        environment: Environment,
        card: Mapping[str, str],
        *,
        expand: Callable[[str, Environment], str],
        limits: MacroLimits,
    ) -> None:
        self.environment = environment
        self.card = card
        self.expand = expand
        self._raw = raw
        self._limits = limits
        self._steps = 0
        self.took_opening = False

    @cached_property
    def raw_hash(self) -> int:
        """The hash of the text before any pass, which decides what `{{pick}}` picks."""
        return string_hash(self._raw)

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
        self._steps += calls
        if self._steps > self._limits.steps:
            raise LimitReached(f"more than {self._limits.steps:,} calls")
        if length > self._limits.output:
            raise LimitReached(f"more than {self._limits.output:,} characters")
