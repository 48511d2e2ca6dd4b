"""The time that leases and due times are measured in: the same for all processes, whatever their own clocks say.

On PostgreSQL it is the server's. On SQLite, where all processes are on one machine, it is the machine's steady clock,
which nobody can set. The first process of several writes down what time it was then, and the others go on from there.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Protocol

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.base import UtcDateTime
from tavernkit.playground.base.database.engine import Database
from tavernkit.playground.base.database.models import Job, Run
from tavernkit.playground.base.database.start_lock import locked_file, start_lock, try_lock

ANCHOR_BYTES = 1000


class LeaseClock(Protocol):
    """What leases begin and end by, and when something that waits is due."""

    async def now(self, session: AsyncSession) -> datetime: ...


class ServerClock:
    """The clock of a PostgreSQL server."""

    async def now(self, session: AsyncSession) -> datetime:
        # Not the time at which the transaction began: it may have waited for a lock since.
        return (await session.scalars(select(func.clock_timestamp(type_=UtcDateTime())))).one()


class SteadyClock:
    """The machine's steady clock, counted from a time of day that all processes on the database share."""

    def __init__(self, began_at: datetime, monotonic: float) -> None:
        self._began_at = began_at
        self._monotonic = monotonic

    async def now(self, session: AsyncSession) -> datetime:  # noqa: ARG002 - the database has no part in it
        return self._began_at + timedelta(seconds=time.monotonic() - self._monotonic)


@asynccontextmanager
async def open_lease_clock(database: Database, url: str, clock: Callable[[], datetime]) -> AsyncIterator[LeaseClock]:
    """The clock of a database, for as long as this process uses it.

    A file beside an SQLite database is locked by all processes that use it. Whoever finds nobody else there begins a
    new count: the machine may have been started anew. What was left running belongs to nobody then.
    """
    if database.is_postgresql:
        yield ServerClock()
        return
    with locked_file(database.engine.url, "clock") as descriptor:
        async with start_lock(url):
            if try_lock(descriptor):
                steady = _begin(descriptor, clock())
                await _free_all(database, steady)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            steady = _read(descriptor)
        yield steady


def _begin(descriptor: int, now: datetime) -> SteadyClock:
    anchor = json.dumps({"began_at": now.isoformat(), "monotonic": time.monotonic()})
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, anchor.encode(), 0)
    return _read(descriptor)


def _read(descriptor: int) -> SteadyClock:
    anchor = json.loads(os.pread(descriptor, ANCHOR_BYTES, 0))
    return SteadyClock(datetime.fromisoformat(anchor["began_at"]), anchor["monotonic"])


async def _free_all(database: Database, clock: LeaseClock) -> None:
    """Nobody works on this database: no lease holds any more, and nothing waits for a time of another count."""
    async with database.write() as session:
        now = await clock.now(session)
        for kind in (Run, Job):
            await session.execute(update(kind).where(kind.status == "running").values(lease_expires_at=now))
            waiting = update(kind).where(kind.status == "queued", kind.run_after > now)
            await session.execute(waiting.values(run_after=now))
