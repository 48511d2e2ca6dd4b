"""What a test may call endless. How fast something is, benchmarks measure, on a machine that does nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic, process_time, sleep

__all__ = ["HANG_SECONDS", "eventually", "not_hanging", "wait_until"]

HANG_SECONDS = 60
"""Nothing takes so long in a test, however busy the machine is: who waits for it longer waits for ever."""

COMPUTING_SECONDS = 20


@contextmanager
def not_hanging(seconds: float = COMPUTING_SECONDS) -> Iterator[None]:
    """Fail when the block computes for longer than what hostile input may cost.

    Only what this process itself computes counts, so that others on the machine do not matter. The limit is far above
    what is right and far below what a program takes that does too much for each part of its input.
    """
    began = process_time()
    yield
    spent = process_time() - began
    assert spent < seconds, f"computed for {spent:.1f} s"


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again and again until something is so; fail when it never is."""
    end = monotonic() + HANG_SECONDS
    while not condition():
        assert monotonic() < end, f"it did not happen: {condition}"
        sleep(0.01)


async def eventually(condition: Callable[[], Awaitable[bool] | bool], *, hang_seconds: float = HANG_SECONDS) -> None:
    """As `wait_until`, in an event loop; the condition may be asynchronous."""
    async with asyncio.timeout(hang_seconds):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)
