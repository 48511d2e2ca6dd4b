"""The moments of every write at which a process can be made to die.

A write is called after the function that opened its transaction, so that those that come later have names as well. A
transaction that changes nothing, as when a worker looks for runs and finds none, is no write.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple, Self
from unittest.mock import patch

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.administration import restoring
from tavernkit.playground.base.administration.restoring import restore_staged
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.backup import Manifest, Progress
from tavernkit.playground.edge import server

__all__ = [
    "AFTER_COMMIT",
    "IN_FULL",
    "CrashPoint",
    "Points",
    "is_death_of_its_own",
    "watched_restore",
    "watched_writes",
]

BEFORE_COMMIT = "before_commit"
AFTER_COMMIT = "after_commit"
AFTER_PUBLISHING = "after_publishing"


class CrashPoint(NamedTuple):
    """A moment of a write, such as `finish_run:before_commit`, and which time."""

    moment: str
    time: int = 1

    def __str__(self) -> str:
        return f"{self.moment}#{self.time}"

    @classmethod
    def parse(cls, line: str) -> Self:
        moment, _, time = line.strip().partition("#")
        return cls(moment, int(time))


IN_FULL = "TAVERNKIT_CRASHES" in os.environ
"""`make soak` dies at every point, on each kind of database."""


def is_death_of_its_own(point: CrashPoint) -> bool:
    """Whether the database is left as no other point leaves it.

    Whoever has published and dies leaves the same rows as whoever dies before the next commit.
    """
    return IN_FULL or not point.moment.endswith(AFTER_PUBLISHING)


class Points:
    """A folder through which a process tells what it passes, and is told where to die."""

    def __init__(self, folder: Path) -> None:
        self._passed = folder / "passed"
        self._armed = folder / "armed"

    def clear(self) -> None:
        """Forget what has been passed, and die nowhere."""
        self._passed.unlink(missing_ok=True)
        self._armed.unlink(missing_ok=True)

    def arm(self, point: CrashPoint) -> None:
        """Die there, counted from now."""
        # In one step, for the process may look at any time.
        written = self._armed.with_suffix(".new")
        written.write_text(str(point))
        written.rename(self._armed)

    def passed(self) -> list[CrashPoint]:
        """What has been passed since it was cleared, each moment once, in the order of the first time."""
        return [CrashPoint(moment) for moment in self._moments()]

    def passed_each_time(self) -> list[CrashPoint]:
        """The same, with every time that a moment was passed."""
        return [CrashPoint(moment, time) for moment, count in self._moments().items() for time in range(1, count + 1)]

    def _moments(self) -> Counter[str]:
        return Counter(self._passed.read_text().splitlines() if self._passed.exists() else [])

    def reach(self, moment: str) -> None:
        """Called inside the process: note the moment, and die if it is the one."""
        with self._passed.open("a") as passed:
            passed.write(f"{moment}\n")
        if not self._armed.exists():
            return
        point = CrashPoint.parse(self._armed.read_text())
        if point.moment != moment:
            return
        if point.time > 1:
            self.arm(point._replace(time=point.time - 1))
            return
        self._armed.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def watched_writes(points: Points) -> Iterator[None]:
    """While it is open, every transaction passes its points."""
    original = Database.write

    def write(database: Database) -> AbstractAsyncContextManager[AsyncSession]:
        return watched(database, _opener(sys._getframe(1)))

    @asynccontextmanager
    async def watched(database: Database, name: str) -> AsyncIterator[AsyncSession]:
        announces = False
        async with original(database) as session:
            before = await _changes(database, session)
            yield session
            await session.flush()
            if await _changes(database, session) != before:
                announces = bool(session.info.get("announcements"))
                # Only now: a savepoint inside the transaction would be a commit too.
                event.listen(session.sync_session, "after_commit", lambda _: points.reach(f"{name}:{AFTER_COMMIT}"))
                points.reach(f"{name}:{BEFORE_COMMIT}")
        if announces:
            points.reach(f"{name}:{AFTER_PUBLISHING}")

    with patch.object(Database, "write", write):
        yield


@contextmanager
def watched_restore(points: Points) -> Iterator[None]:
    """While it is open, restoring a backup at the start passes points: at every row that is saved and loaded, at every
    commit, and around every file."""
    back_up, restore, write_once = restoring.back_up, restoring.restore, restoring.write_once

    def each(name: str) -> Progress:
        return lambda _count: nullcontext(lambda: points.reach(f"{name}:row"))

    async def watched_back_up(url: str, target: Path, now: datetime) -> Manifest:
        manifest = await back_up(url, target, now, progress=each("back_up"))
        points.reach("back_up:written")
        return manifest

    async def watched_restore(url: str, source: IO[bytes], *, force: bool) -> Manifest:
        manifest = await restore(url, source, force=force, progress=each("restore"))
        points.reach(f"restore:{AFTER_COMMIT}")
        return manifest

    def watched_write_once(path: Path, content: bytes, *, replace: bool) -> None:
        points.reach("write_outcome:before")
        write_once(path, content, replace=replace)
        points.reach("write_outcome:written")

    async def watched(settings: AppConfig, now: datetime) -> None:
        def commit(_connection: Connection) -> None:
            points.reach(f"restore_staged:{BEFORE_COMMIT}")

        event.listen(Engine, "commit", commit)
        try:
            await restore_staged(settings, now)
        finally:
            event.remove(Engine, "commit", commit)
        points.reach("restore_staged:done")

    with (
        patch.object(restoring, "back_up", watched_back_up),
        patch.object(restoring, "restore", watched_restore),
        patch.object(restoring, "write_once", watched_write_once),
        patch.object(server, "restore_staged", watched),
    ):
        yield


def _opener(frame: FrameType | None) -> str:
    """The name of the function that a transaction belongs to; helpers within a module work for another."""
    while frame is not None and frame.f_code.co_name.startswith("_"):
        frame = frame.f_back
    return "unknown" if frame is None else frame.f_code.co_name


async def _changes(database: Database, session: AsyncSession) -> int:
    """A number that a transaction increases by changing something."""
    question = "pg_current_xact_id_if_assigned() IS NOT NULL" if database.is_postgresql else "total_changes()"
    return int((await session.execute(text(f"SELECT {question}"))).scalar_one())
