"""One process at a time brings a database up to date and fills it; those that start meanwhile wait for it."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from sqlalchemy import func, select
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.errors import DatabaseError

ADVISORY_LOCK = 0x7461_7665_726E
"""The number of the lock in PostgreSQL: `tavern` in ASCII."""

RETRY_SECONDS = 0.05


@asynccontextmanager
async def start_lock(url: str) -> AsyncIterator[None]:
    """Hold the lock of everybody who starts on this database; waits for whoever has it."""
    engine = create_engine(url)
    try:
        if engine.dialect.name == "postgresql":
            async with _advisory_lock(engine):
                yield
        else:
            with locked_file(engine.url, "start") as descriptor:
                while not try_lock(descriptor):
                    await asyncio.sleep(RETRY_SECONDS)
                yield
    finally:
        await engine.dispose()


@asynccontextmanager
async def _advisory_lock(engine: AsyncEngine) -> AsyncIterator[None]:
    """A lock that the server gives back when the connection ends, however that comes about."""
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        # Asking again and again is stopped by no `lock_timeout` or `statement_timeout` of the user's.
        while not await connection.scalar(select(func.pg_try_advisory_lock(ADVISORY_LOCK))):
            await asyncio.sleep(RETRY_SECONDS)
        yield


@contextmanager
def locked_file(url: URL, name: str) -> Iterator[int]:
    """A file beside an SQLite database for `try_lock`; its lock is free when the block, or the process, ends."""
    # Like SQLite's own files, it is beside the file that a link leads to.
    path = f"{os.path.realpath(url.database or '')}-{name}"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DatabaseError(
            f"The database cannot be used: {path}: {error.strerror}. See TAVERNKIT_DATABASE_URL."
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock a file for this process alone; False when another one has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
