"""The time that scripts or triggers of strangers may take together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tavernkit.text.js_regex import TIME_LIMIT

_SECONDS_PER_CHARACTER = 5e-7
_SHORTEST = 0.001


class TimeBudget:
    """Seconds of the processor, counted only while something runs.

    One that is made for a whole build and given to every run keeps hostile scripts from taking their time anew for
    each message.
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.process_time) -> None:
        self.seconds = seconds
        self._clock = clock
        self._spent = 0.0
        self._since: float | None = None

    @property
    def left(self) -> float:
        """Seconds that are left."""
        running = 0.0 if self._since is None else self._clock() - self._since
        return self.seconds - self._spent - running

    def regex_limit(self, text: str) -> float:
        """Seconds that the next pattern may take with this text: a harmless one needs time for a long text too."""
        return max(min(TIME_LIMIT + len(text) * _SECONDS_PER_CHARACTER, self.left), _SHORTEST)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time inside; what runs inside another run is counted once."""
        if self._since is not None:
            yield
            return
        self._since = self._clock()
        try:
            yield
        finally:
            self._spent += self._clock() - self._since
            self._since = None
