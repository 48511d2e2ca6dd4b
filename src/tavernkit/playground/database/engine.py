"""The database: reading, and writing in one transaction that announces what it did only after it is committed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from select import POLLIN, poll
from typing import Any, Protocol

from sqlalchemy import event, make_url
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from tavernkit.playground.database.errors import DatabaseError, tell_when_full
from tavernkit.playground.database.functions import add_functions

__all__ = ["Announcements", "Database", "DatabaseError", "announce", "create_engine"]


ADVICE = "Use sqlite:///path/to/file.db or postgresql://user:password@host/name."


class Announcements(Protocol):
    """Where a committed transaction tells others that there is something to look at."""

    async def publish(self, topic: str, data: dict[str, Any]) -> None: ...


class Database:
    """Sessions for reading and for writing."""

    def __init__(self, url: str, bus: Announcements) -> None:
        self.engine = create_engine(url)
        self._bus = bus
        self._reading = async_sessionmaker(self.engine, expire_on_commit=False)
        self._writing = async_sessionmaker(self.engine.execution_options(writes=True), expire_on_commit=False)

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A session that changes nothing."""
        async with self._reading() as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """One transaction: committed when the block ends, rolled back when it raises; then announces."""
        async with self._writing() as session:
            async with session.begin():
                yield session
            announcements: list[tuple[str, dict[str, Any]]] = session.info.pop("announcements", [])
        for topic, data in announcements:
            await self._bus.publish(topic, data)

    async def close(self) -> None:
        await self.engine.dispose()


def announce(session: AsyncSession, topic: str, **data: Any) -> None:
    """Tell a topic's listeners something once this transaction is committed; nothing if it is not."""
    session.info.setdefault("announcements", []).append((topic, data))


def create_engine(url: str) -> AsyncEngine:
    """An engine for SQLite (in WAL mode, with foreign keys) or PostgreSQL."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DatabaseError(f"The database address cannot be read. {ADVICE}") from None
    if parsed.drivername == "sqlite+aiosqlite":
        return tell_when_full(_create_sqlite_engine(parsed))
    if parsed.drivername != "postgresql+psycopg":
        raise DatabaseError(f"Databases of the kind {parsed.drivername!r} are not supported. {ADVICE}")
    # What is stored does not belong into logs, where the parameters of a failed statement would end up.
    engine = create_async_engine(parsed, pool_size=10, max_overflow=20, hide_parameters=True)
    event.listen(engine.sync_engine.pool, "checkout", _leave_if_dead)
    return tell_when_full(engine)


def _leave_if_dead(_: object, record: ConnectionPoolEntry, *__: object) -> None:
    """Have another connection opened where the server has ended this one, and all others with it.

    The server says nothing to a connection that rests. If there is something to read, it is that the connection is
    over, and looking for that costs no question to the server, as a ping would each time.
    """
    driver = record.driver_connection
    if driver is None or driver.closed or _has_something_to_read(driver.fileno()):
        raise InvalidatePoolError("The server has ended the connection.")


def _has_something_to_read(file: int) -> bool:
    # Not `select`, which knows the first 1,024 files only.
    looking = poll()
    looking.register(file, POLLIN)
    return bool(looking.poll(0))


def _create_sqlite_engine(url: URL) -> AsyncEngine:
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_async_engine(url, connect_args={"timeout": 30}, hide_parameters=True)

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        # Transactions are begun below, explicitly, so that a writer takes the lock at once instead of failing later.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=30000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        add_functions(connection)

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
