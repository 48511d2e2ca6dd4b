"""Keeping the long-lived loops of a process running, and knowing how they are."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from tavernkit.playground.base.waiting import happens
from tavernkit.values import Value

FIRST_PAUSE_SECONDS = 0.25
MOST_DOUBLINGS = 16
LATE_SECONDS = 30.0
"""How long a loop may be without a success, besides what it waits by itself, before it counts as unwell."""

log = logging.getLogger(__name__)


class LoopState(Value, frozen=True, kw_only=True):
    """How a loop is: `failures` counts those since its last success."""

    name: str
    is_alive: bool
    is_well: bool
    seconds_since_success: float
    failures: int


class Loop:
    """Takes one turn after another until an event happens, whatever a turn raises.

    `every` is how long a turn waits by itself, and the longest pause after one that failed.
    """

    def __init__(self, name: str, *, every: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._every = every
        self._clock = clock
        self._failures = 0
        self._succeeded_at = clock()
        self._task: asyncio.Task[None] | None = None

    def start(self, turn: Callable[[], Awaitable[None]], *, until: asyncio.Event) -> asyncio.Task[None]:
        self._task = asyncio.create_task(self._run(turn, until), name=self._name)
        return self._task

    def succeeded(self) -> None:
        """Called after each turn; a turn that lasts long calls it by itself."""
        if self._failures:
            log.warning("The loop %s works again after %d failures.", self._name, self._failures)
        self._failures, self._succeeded_at = 0, self._clock()

    def state(self) -> LoopState:
        is_alive = self._task is not None and not self._task.done()
        seconds = self._clock() - self._succeeded_at
        return LoopState(
            name=self._name,
            is_alive=is_alive,
            is_well=is_alive and seconds < self._every + LATE_SECONDS,
            seconds_since_success=seconds,
            failures=self._failures,
        )

    async def _run(self, turn: Callable[[], Awaitable[None]], until: asyncio.Event) -> None:
        while not until.is_set():
            try:
                await turn()
            except Exception as error:
                # Whatever is wrong with one turn, the next is tried: nobody else would start the loop again.
                self._failures += 1
                if self._failures == 1:
                    log.exception("The loop %s failed; trying again soon.", self._name)
                elif self._failures.bit_count() == 1:
                    # The second failure, the fourth, the eighth: a long outage does not fill the log.
                    log.warning("The loop %s failed %d times in a row: %r", self._name, self._failures, error)
                pause = FIRST_PAUSE_SECONDS * 2 ** min(self._failures - 1, MOST_DOUBLINGS)
                await happens(until, within=min(pause, self._every))
            else:
                self.succeeded()


class Loops:
    """The loops of one part of the application, by name."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}

    def add(self, name: str, *, every: float) -> Loop:
        """A loop that is to be started; it takes the place of an older one of that name."""
        loop = self._loops[name] = Loop(name, every=every)
        return loop

    def states(self) -> tuple[LoopState, ...]:
        return tuple(loop.state() for loop in self._loops.values())
