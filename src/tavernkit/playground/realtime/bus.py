"""The bus: how one part of the application tells others that there is something to look at.

What goes over it may be lost; the truth is in the database.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol
from uuid import UUID

__all__ = ["JOBS", "RUNS", "Bus", "LocalBus", "Subscription", "conversation_topic", "user_topic"]

RUNS = "runs"
"""The topic that workers listen to: a run was queued, or is to be stopped."""

JOBS = "jobs"
"""The topic that workers listen to: a job was queued, or is to be stopped."""

BACKLOG = 1000


def conversation_topic(conversation_id: UUID) -> str:
    return f"conversation:{conversation_id}"


def user_topic(user_id: UUID) -> str:
    """What concerns one person and no conversation: how far their jobs have come."""
    return f"user:{user_id}"


class Subscription:
    """What arrived for one listener. A listener that is too slow loses the oldest and is told with `{"gap": True}`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=BACKLOG)

    def deliver(self, data: dict[str, Any]) -> None:
        if self._queue.full():
            while not self._queue.empty():
                self._queue.get_nowait()
            self._queue.put_nowait({"gap": True})
        else:
            self._queue.put_nowait(data)

    async def next(self, *, unless: asyncio.Event, within: float) -> dict[str, Any] | None:
        """What arrives next; None when the time has passed without anything, or the event has happened."""
        arriving = asyncio.ensure_future(self._queue.get())
        happening = asyncio.ensure_future(unless.wait())
        try:
            await asyncio.wait({arriving, happening}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
            return arriving.result() if arriving.done() else None
        finally:
            arriving.cancel()
            happening.cancel()


class Bus(Protocol):
    """Publish to a topic; subscribe to topics."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def publish(self, topic: str, data: dict[str, Any]) -> None: ...

    def subscribe(self, *topics: str) -> AbstractAsyncContextManager[Subscription]: ...


class LocalBus:
    """A bus within one process."""

    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[Subscription]] = defaultdict(set)

    async def start(self) -> None:
        return None

    async def close(self) -> None:
        return None

    async def publish(self, topic: str, data: dict[str, Any]) -> None:
        self.deliver(topic, data)

    def deliver(self, topic: str, data: dict[str, Any]) -> None:
        for subscription in tuple(self._listeners.get(topic, ())):
            subscription.deliver(data)

    def deliver_gap(self) -> None:
        """Tell every listener that something may have been missed."""
        for topic in tuple(self._listeners):
            self.deliver(topic, {"gap": True})

    @asynccontextmanager
    async def subscribe(self, *topics: str) -> AsyncIterator[Subscription]:
        subscription = Subscription()
        for topic in topics:
            self._listeners[topic].add(subscription)
        try:
            yield subscription
        finally:
            for topic in topics:
                self._listeners[topic].discard(subscription)
                if not self._listeners[topic]:
                    del self._listeners[topic]
