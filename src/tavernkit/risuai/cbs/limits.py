"""What one text may cost, so that a hostile one can be wrong but neither slow nor large."""

from __future__ import annotations

from typing import Final

MOST_PARSES: Final = 20
"""RisuAI's own limit on parses within a parse."""

DEEPEST_FRAME: Final = 511
"""RisuAI keeps track of 512 levels with the text itself as one; what opens deeper than that is never closed."""

FUEL: Final = 5_000_000
FUEL_PER_CHARACTER: Final = 20
COST_OF_STEP: Final = 20
COST_OF_TEXT: Final = 500
COST_OF_CALCULATING: Final = 10


class OutOfFuel(Exception):  # noqa: N818 - no error: in the tolerant mode it is how a parse ends
    """The text costs more than it may."""


class Fuel:
    """What is left of a text's allowance: a unit for each character that is handled, and some for each piece and text.

    A text has five million and twenty more for each of its own characters: honest ones come nowhere near.
    """

    __slots__ = ("left",)

    def __init__(self, text: str) -> None:
        self.left = FUEL + FUEL_PER_CHARACTER * len(text)

    def burn(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise OutOfFuel

    def burn_for(self, text: str, steps: int) -> None:
        """Pay for a text that is going to be read in so many steps."""
        self.burn(COST_OF_TEXT + len(text) + COST_OF_STEP * steps)
