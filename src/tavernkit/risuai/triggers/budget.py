"""What a run of triggers may cost, the runs that it starts included."""

from __future__ import annotations

from tavernkit.text.time_budget import TimeBudget

STEPS = 100_000
CHARACTERS = 8_000_000
SECONDS = 3.0
_CHARACTERS_PER_STEP = 1_000


class BudgetSpentError(Exception):
    """The run costs more than it may; the message says of what."""


class TriggerBudget:
    """Steps, written characters and seconds that are left.

    An effect is a step, and so is every thousand characters that it handles: an array in a variable is read and written
    as a whole for each item.
    """

    def __init__(self, *, steps: int = STEPS, characters: int = CHARACTERS, time: TimeBudget | None = None) -> None:
        self.steps = steps
        self.characters = characters
        self.time = TimeBudget(SECONDS) if time is None else time

    def step(self, characters: int = 0) -> None:
        """Pay for one effect, or for handling so many characters."""
        self.steps -= 1 + characters // _CHARACTERS_PER_STEP
        if self.steps < 0:
            raise BudgetSpentError("It took more steps than triggers may take.")
        if self.time.left <= 0:
            raise BudgetSpentError(f"It took longer than the {self.time.seconds:g} s that triggers may take.")

    def write(self, characters: int) -> None:
        """Pay for text that stays in memory."""
        self.characters -= characters
        if self.characters < 0:
            raise BudgetSpentError("It wrote more text than triggers may write.")
