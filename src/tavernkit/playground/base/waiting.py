"""Waiting for something, but not for ever."""

from __future__ import annotations

import asyncio
from math import ceil

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


async def happens(event: asyncio.Event, *, within: float) -> bool:
    """True as soon as the event happens, False when the time has passed without it."""
    try:
        async with asyncio.timeout(within):
            return await event.wait()
    except TimeoutError:
        return False


def plain_wait(seconds: float) -> str:
    """How long to wait, for a sentence: rounded up, in the unit that people would say it in."""
    if seconds >= _DAY:
        return "a day or longer"
    unit, length = ("hour", _HOUR) if seconds > 90 * _MINUTE else ("minute", _MINUTE) if seconds > 90 else ("second", 1)
    count = max(1, ceil(seconds / length))
    return f"1 {unit}" if count == 1 else f"{count} {unit}s"
