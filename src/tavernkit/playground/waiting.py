"""Waiting for something, but not for ever."""

from __future__ import annotations

import asyncio

__all__ = ["happens"]


async def happens(event: asyncio.Event, *, within: float) -> bool:
    """True as soon as the event happens, False when the time has passed without it."""
    try:
        async with asyncio.timeout(within):
            return await event.wait()
    except TimeoutError:
        return False
