"""The bus: how one part of the application notifies others that there is something to look at.

What goes over it may be lost; the truth is in the database.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from tavernkit.playground.base.supervision import Loops

RUNS = "runs"
"""The topic that workers listen to: a run was queued, or is to be stopped."""

JOBS = "jobs"
"""The topic that workers listen to: a job was queued, or is to be stopped."""

BACKLOG = 1000


def conversation_topic(conversation_id: UUID) -> str:
    return f"conversation:{conversation_id}"


def user_topic(user_id: UUID) -> str:
    """What concerns one person alone: how far their jobs have come, and what is written for them only."""
    return f"user:{user_id}"


def space_topic(space_id: UUID) -> str:
    """What concerns every conversation of a space, and is not written into each of them."""
    return f"space:{space_id}"


def owner_topic(user_id: UUID) -> str:
    """What concerns every conversation of a person's spaces, for everybody who is in them."""
    return f"owner:{user_id}"


class Subscription:
    """What arrived for one listener. A listener that is too slow loses the oldest and is told with `{"gap": True}`."""

    def __init__(self) -> None:
        self._items: deque[dict[str, Any]] = deque()
        self._arrived: asyncio.Future[None] | None = None
        self._leaving: tuple[asyncio.Event, asyncio.Task[None]] | None = None

    def deliver(self, data: dict[str, Any]) -> None:
        if len(self._items) >= BACKLOG:
            self._items.clear()
            data = {"gap": True}
        self._items.append(data)
        self._wake()

    async def next(self, *, unless: asyncio.Event, within: float) -> dict[str, Any] | None:
        """What arrives next; None when the time has passed without anything, or the event has happened."""
        await self._wait(unless, within)
        return self._items.popleft() if self._items else None

    async def all_next(self, *, unless: asyncio.Event, within: float) -> list[dict[str, Any]]:
        """Everything that has arrived by the time that something has; nothing as with `next`."""
        await self._wait(unless, within)
        items = list(self._items)
        self._items.clear()
        return items

    def close(self) -> None:
        if self._leaving is not None:
            self._leaving[1].cancel()

    async def _wait(self, unless: asyncio.Event, within: float) -> None:
        if self._items or unless.is_set():
            return
        self._leave_at(unless)
        loop = asyncio.get_running_loop()
        self._arrived = loop.create_future()
        passing = loop.call_later(within, self._wake)
        try:
            await self._arrived
        finally:
            passing.cancel()
            self._arrived = None

    def _leave_at(self, event: asyncio.Event) -> None:
        # One task for the life of the subscription: a thousand readers hear fifty words a second.
        if self._leaving is None or self._leaving[0] is not event:
            self.close()
            self._leaving = (event, asyncio.create_task(self._wake_at(event)))

    async def _wake_at(self, event: asyncio.Event) -> None:
        await event.wait()
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class Bus:
    """Publish to a topic; subscribe to topics. This one is for a single process, and others build on it.

    `listeners` is how many listen in this process; `loops` are what it needs to go on running.
    """

    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[Subscription]] = defaultdict(set)
        self.listeners = 0
        self.loops = Loops()

    async def start(self) -> None:
        """Nothing has to be connected within one process."""

    async def close(self) -> None:
        """Nothing has to be given back."""

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
        self.listeners += 1
        for topic in topics:
            self._listeners[topic].add(subscription)
        try:
            yield subscription
        finally:
            subscription.close()
            self.listeners -= 1
            for topic in topics:
                self._listeners[topic].discard(subscription)
                if not self._listeners[topic]:
                    del self._listeners[topic]
