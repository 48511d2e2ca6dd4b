"""Reading a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from tavernkit.playground.base.realtime.presence import Person
from tavernkit.playground.edge.live.streaming import READER, FindPermissions, conversation_stream
from tavernkit.playground.edge.presenting.messages import MessagePermissions
from tests.playground.stories import Story
from tests.support.hanging import HANG_SECONDS

__all__ = ["Page", "everybody", "parsed"]


async def everybody() -> bool:
    """Nobody is sent away."""
    return True


class Page:
    """A page that is open on a conversation."""

    def __init__(
        self,
        play: Story,
        after: int = 0,
        *,
        user_id: UUID | None = None,
        may_read: Callable[[], Awaitable[bool]] | FindPermissions = everybody,
        around: Sequence[str] = (),
        person: Person | None = None,
        keep_alive: float = 15,
    ) -> None:
        async def find_permissions() -> MessagePermissions | None:
            found = await may_read()
            return (READER if found else None) if isinstance(found, bool) else found

        self._stream: AsyncIterator[str] = conversation_stream(
            play.runtime,
            play.conversation_id,
            after,
            user_id=user_id or play.user_id,
            find_permissions=find_permissions,
            person=person,
            around=around,
            keep_alive=keep_alive,
        )
        self._heard: list[dict[str, str]] = []

    async def take(self, count: int) -> list[dict[str, str]]:
        """The next events."""
        async with asyncio.timeout(HANG_SECONDS):
            while len(self._heard) < count:
                self._heard += parsed(await anext(self._stream))
        taken, self._heard = self._heard[:count], self._heard[count:]
        return taken

    async def until(self, condition: Callable[[dict[str, str]], bool]) -> list[dict[str, str]]:
        """The next events, up to one of which the condition is true."""
        events = await self.take(1)
        while not condition(events[-1]):
            events += await self.take(1)
        return events

    async def rest(self) -> list[dict[str, str]]:
        """All events until the stream ends."""
        async with asyncio.timeout(HANG_SECONDS):
            async for chunk in self._stream:
                self._heard += parsed(chunk)
        return self._heard

    async def leave(self) -> None:
        stream: Any = self._stream
        await stream.aclose()


def parsed(chunk: str) -> list[dict[str, str]]:
    """The events in a piece of the stream, with their numbers alone as ids; remarks that keep it alive are none."""
    return [_fields(block) for block in chunk.strip("\n").split("\n\n") if not block.startswith(":")]


def _fields(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(": ")
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    _, _, number = fields.pop("id").partition(":")
    return {**fields, "id": number} if number else fields
