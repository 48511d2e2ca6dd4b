"""Who has a conversation open: hints from the event streams of this process and of others, which expire by the clock.

Nothing of it is stored. Each process keeps what it has heard over the bus; who is not heard of any more is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tavernkit.playground.base.realtime.bus import Bus, conversation_topic
from tavernkit.values import Value

LASTS = timedelta(seconds=45)
"""For so long somebody counts as there who is not heard of."""
REPEATED = timedelta(seconds=10)
"""So often a stream says that its reader is still there."""
TYPING_PAUSE = timedelta(seconds=1)
"""More hints of the same person than one in this time are dropped."""
MOST_HELD = 10_000


class Person(Value, frozen=True, kw_only=True):
    """A member of a space who is a person, and what they are called there."""

    member_id: str
    name: str


class Presence:
    """Who is there, by conversation. One who has it open several times is there once."""

    def __init__(self, bus: Bus, clock: Callable[[], datetime]) -> None:
        self._bus = bus
        self._clock = clock
        self._open: Counter[tuple[UUID, str]] = Counter()
        self._said: dict[tuple[UUID, str], datetime] = {}
        self._typed: dict[tuple[UUID, str], datetime] = {}
        self._seen: dict[UUID, dict[str, tuple[str, datetime]]] = {}

    async def arrive(self, conversation_id: UUID, person: Person) -> None:
        """A stream of this person was opened in this process."""
        self._open[conversation_id, person.member_id] += 1
        await self.stay(conversation_id, person)

    async def stay(self, conversation_id: UUID, person: Person) -> None:
        """They are still there; said again only after a while, however many streams they have."""
        key, now = (conversation_id, person.member_id), self._clock()
        said_at = self._said.get(key)
        if said_at is None or now - said_at >= REPEATED:
            self._said[key] = now
            await self._publish(conversation_id, here={"member": person.member_id, "name": person.name})

    async def leave(self, conversation_id: UUID, person: Person) -> None:
        """A stream of this person was closed in this process."""
        key = (conversation_id, person.member_id)
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]
            self._said.pop(key, None)
            self._typed.pop(key, None)
            if not any(open_id == conversation_id for open_id, _member_id in self._open):
                # Nobody in this process hears any more who comes and goes.
                self._seen.pop(conversation_id, None)
            await self._publish(conversation_id, gone=person.member_id)

    async def type(self, conversation_id: UUID, person: Person) -> None:
        """They are typing."""
        key, now = (conversation_id, person.member_id), self._clock()
        typed_at = self._typed.get(key)
        if typed_at is None or now - typed_at >= TYPING_PAUSE:
            if len(self._typed) >= MOST_HELD:
                self._typed.clear()
            self._typed[key] = now
            await self._publish(conversation_id, typing={"member": person.member_id, "name": person.name})

    def hear(self, conversation_id: UUID, item: dict[str, Any]) -> None:
        """Take in what the bus has brought to a stream of this process; hearing it twice changes nothing."""
        if "here" in item:
            member = item["here"]
            people = self._seen.setdefault(conversation_id, {})
            people[member["member"]] = (member["name"], self._clock() + LASTS)
        elif "gone" in item and (conversation_id, item["gone"]) not in self._open:
            self._seen.get(conversation_id, {}).pop(item["gone"], None)

    def people(self, conversation_id: UUID) -> tuple[Person, ...]:
        """Who is there now, by name."""
        now, seen = self._clock(), self._seen.get(conversation_id, {})
        for member_id, (_name, until) in list(seen.items()):
            if until <= now and (conversation_id, member_id) not in self._open:
                del seen[member_id]
        if not seen:
            self._seen.pop(conversation_id, None)
        found = (Person(member_id=member_id, name=name) for member_id, (name, _until) in seen.items())
        return tuple(sorted(found, key=lambda one: (one.name.casefold(), one.member_id)))

    async def _publish(self, conversation_id: UUID, **item: Any) -> None:
        await self._bus.publish(conversation_topic(conversation_id), item)
