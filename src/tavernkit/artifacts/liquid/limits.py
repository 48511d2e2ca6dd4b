"""What a template may cost: counted, never timed, so that the same template fails or passes everywhere."""

from __future__ import annotations

from tavernkit.artifacts.liquid.problems import TooCostlyError
from tavernkit.values import Value

__all__ = ["MAX_NESTING", "MAX_RANGE", "MAX_SOURCE", "LiquidLimits", "Meter"]

MAX_SOURCE = 100_000
"""Characters of the longest template."""

MAX_NESTING = 50
"""How deep blocks may stand in blocks."""


MAX_RANGE = 1_000_000
"""Numbers of the longest range."""


class LiquidLimits(Value, frozen=True, kw_only=True):
    """What one rendering may use.

    `loops` counts the turns of all loops, `steps` every tag, output, path and filter, `output` the characters of the
    result, and `memory` the characters and items of everything made on the way.
    """

    loops: int = 100_000
    steps: int = 250_000
    output: int = 1_000_000
    memory: int = 4_000_000


class Meter:
    """Counts what a rendering has used; every method raises TooCostlyError once it is too much."""

    def __init__(self, limits: LiquidLimits) -> None:
        self._limits = limits
        self._steps = self._loops = self._output = self._memory = 0

    def step(self) -> None:
        self._steps += 1
        if self._steps > self._limits.steps:
            raise TooCostlyError(f"it takes more than {self._limits.steps} steps")

    def turn(self) -> None:
        self._loops += 1
        if self._loops > self._limits.loops:
            raise TooCostlyError(f"its loops run more than {self._limits.loops} times")

    def written(self, characters: int) -> None:
        self._output += characters
        if self._output > self._limits.output:
            raise TooCostlyError(f"its text is longer than {self._limits.output} characters")

    def made(self, size: int) -> None:
        """Count characters or items that a value is about to take, or has taken."""
        self._memory += size + 1
        if self._memory > self._limits.memory:
            raise TooCostlyError(f"its values take more than {self._limits.memory} characters and items")
