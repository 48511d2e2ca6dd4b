"""Doing once what many ask for at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class SharedWork:
    """Work under way in this process, and work that begins when that is over.

    Nobody joins work that has begun: it may have looked before there was what the newcomer has heard of. Whoever
    leaves, leaves alone; the work goes on for the others, and it is never torn out of a query.
    """

    def __init__(self) -> None:
        self._coming: dict[Hashable, asyncio.Task[Any]] = {}
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """What comes of the next work under `key`; whoever asks with the same key must ask for the same."""
        task: asyncio.Task[T] | None = self._coming.get(key)
        if task is None:
            task = asyncio.create_task(self._carry_out(key, work, self._under_way.get(key)))
            task.add_done_callback(_heard)
            self._coming[key] = task
        return await asyncio.shield(task)

    async def _carry_out(self, key: Hashable, work: Callable[[], Awaitable[T]], before: asyncio.Task[Any] | None) -> T:
        if before is not None:
            await asyncio.wait({before})
        self._under_way[key] = self._coming.pop(key)
        try:
            return await work()
        finally:
            del self._under_way[key]


def _heard(task: asyncio.Task[Any]) -> None:
    """Everybody who asked may have left; then nobody else looks at what went wrong."""
    if not task.cancelled():
        task.exception()
