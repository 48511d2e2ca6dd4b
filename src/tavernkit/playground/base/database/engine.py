"""The database: reading, and writing in one transaction that announces what it did only after it is committed."""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from select import POLLIN, poll
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, cast

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import event, make_url
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as NoFreeConnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from tavernkit.playground.base.database.errors import DatabaseBusyError, DatabaseError, name_errors
from tavernkit.playground.base.database.fulltext.index import index_changes
from tavernkit.playground.base.database.fulltext.noting import IndexedSession
from tavernkit.playground.base.database.functions import add_functions
from tavernkit.playground.base.database.sqlite_driver import SqliteDriver
from tavernkit.playground.base.private_files import make_folder, make_private

PATIENCE_SECONDS = 15.0
LOCKED_SECONDS = 30.0
"""How long a migration or a backup waits for another process that writes to the same SQLite file."""

Connections: TypeAlias = Literal["requests", "work", "leases", "health"]
"""Who has connections of their own, so that others who wait for a lock cannot use them up."""

POOLS: dict[Connections, tuple[int, int]] = {
    "requests": (10, 20),
    "work": (5, 15),
    # As many as the loops of both workers, and the leases of the jobs that are carried out at a time.
    "leases": (2, 6),
    "health": (1, 0),
}
"""How many connections are kept open at most, and how many more there may be for a while."""

# The server ends a statement that takes too long by itself, and the connection stays; only a server that does not even
# do that is hung up on.
GRACE_SECONDS = 2.0

T = TypeVar("T")

ADVICE = "Use sqlite:///path/to/file.db or postgresql://user:password@host/name."


class Announcements(Protocol):
    """Where a committed transaction notifies others that there is something to look at."""

    async def publish(self, topic: str, data: dict[str, Any]) -> None: ...


class Writers:
    """Those who write to one SQLite file: of those in the queue, the first waits for its turn."""

    def __init__(self) -> None:
        queue, turn = asyncio.Lock(), asyncio.Lock()
        self.queue_and_turn = (queue, turn)
        self.turn_only = (turn,)


class Database:
    """Sessions for reading and for writing. Who waits for the database longer than `patience` gets a
    `DatabaseBusyError`."""

    def __init__(
        self,
        url: str,
        bus: Announcements,
        connections: Connections = "requests",
        *,
        patience: float = PATIENCE_SECONDS,
        writers: Writers | None = None,
    ) -> None:
        self.engine = create_engine(url, connections, patience=patience)
        self._url = url
        self._bus = bus
        self._patience = patience
        # All connections of a process stand in one queue of writers. Leases pass it: a process that has much to write
        # is alive, and must be able to say so in time.
        self._writers = writers or Writers()
        self._waits_for = self._writers.turn_only if connections == "leases" else self._writers.queue_and_turn
        self._apart: dict[Connections, Database] = {}
        self._reading = async_sessionmaker(self.engine, expire_on_commit=False)
        self._writing = async_sessionmaker(
            self.engine.execution_options(writes=True), expire_on_commit=False, sync_session_class=IndexedSession
        )

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A session that changes nothing."""
        try:
            async with self._reading() as session:
                yield session
                if self.is_postgresql:
                    await _end_reading(session)
        except NoFreeConnectionError as error:
            raise DatabaseBusyError(error) from error

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """One transaction: committed when the block ends, rolled back when it raises; then announces.

        What was written in it can be searched once it is committed.
        """
        try:
            async with self._one_writer(), self._writing() as session:
                async with session.begin():
                    yield session
                    await index_changes(session)
                announcements: list[tuple[str, dict[str, Any]]] = session.info.pop("announcements", [])
        except NoFreeConnectionError as error:
            raise DatabaseBusyError(error) from error
        for topic, data in announcements:
            await self._bus.publish(topic, data)

    def apart(self, connections: Connections) -> Database:
        """The same database through other connections; they are closed with these."""
        if connections not in self._apart:
            self._apart[connections] = Database(
                self._url, self._bus, connections, patience=self._patience, writers=self._writers
            )
        return self._apart[connections]

    @asynccontextmanager
    async def _one_writer(self) -> AsyncIterator[None]:
        """SQLite has one writer at a time. Its own way of waiting lets a writer in by chance; here they stand in a
        queue, and who does much in several transactions joins it anew for each of them."""
        if self.is_postgresql:
            yield
            return
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._patience):
                    for lock in self._waits_for:
                        await held.enter_async_context(lock)
            except TimeoutError as error:
                raise DatabaseBusyError(error) from error
            yield

    async def empty_log(self) -> None:
        """Of SQLite: bring its log into the file, and cut it: what was deleted from the file still stands in it.

        Where somebody is reading what is only there, it is left for the next time.
        """
        if self.is_postgresql:
            return
        async with self.engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            if driver is None:
                return
            # While it waits, nobody could write.
            await driver.execute_fetchall("PRAGMA busy_timeout=0")
            try:
                await driver.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                await driver.execute_fetchall(f"PRAGMA busy_timeout={int(self._patience * 1000)}")

    async def close(self) -> None:
        for database in self._apart.values():
            await database.close()
        await self.engine.dispose()


async def _end_reading(session: AsyncSession) -> None:
    """Commit, though there is nothing to be stored: when something is rolled back, as sessions do, the driver forgets
    all statements that it has prepared, and the server plans each of them anew."""
    if session.in_transaction():
        driver = (await (await session.connection()).get_raw_connection()).driver_connection
        # Whoever finds the connection dead is the next who uses it.
        with suppress(psycopg.Error):
            await cast(_LimitedConnection, driver).commit()


def announce(session: AsyncSession, topic: str, **data: Any) -> None:
    """Tell a topic's listeners something once this transaction is committed; nothing if it is not."""
    session.info.setdefault("announcements", []).append((topic, data))


def create_engine(url: str, connections: Connections = "requests", *, patience: float | None = None) -> AsyncEngine:
    """An engine for SQLite (in WAL mode, with foreign keys) or PostgreSQL.

    With `patience`, in seconds, nothing waits longer than that for a connection, for a lock or for an answer of the
    server. Without it, statements take as long as they take: migrations, backups.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DatabaseError(f"The database address cannot be read. {ADVICE}") from None
    kept, more = POOLS[connections]
    pool = {"pool_size": kept, "max_overflow": more}
    if parsed.drivername == "sqlite+aiosqlite":
        return name_errors(_create_sqlite_engine(parsed, patience or LOCKED_SECONDS, pool))
    if parsed.drivername != "postgresql+psycopg":
        raise DatabaseError(f"Databases of the kind {parsed.drivername!r} are not supported. {ADVICE}")
    options: dict[str, Any] = {}
    if patience is not None:
        connect = partial(connect_with_limit, patience=patience)
        options = {"pool_timeout": patience, "connect_args": {"async_creator_fn": connect}}
    # What is stored does not belong into logs, where the parameters of a failed statement would end up.
    engine = create_async_engine(parsed, hide_parameters=True, **pool, **options)
    event.listen(engine.sync_engine.pool, "checkout", _leave_if_dead)
    return name_errors(engine)


async def connect_with_limit(*args: Any, patience: float, **kwargs: Any) -> psycopg.AsyncConnection[Any]:
    """Connect as psycopg does; no statement then waits much longer than `patience`, in seconds."""
    # The driver rounds to whole seconds, and takes less than two for two.
    kwargs.setdefault("connect_timeout", math.ceil(patience))
    connection = await _LimitedConnection.connect(*args, cursor_factory=_PlanningCursor, **kwargs)
    async with AsyncExitStack() as unless_ready:
        unless_ready.push_async_callback(connection.close)
        connection.patience = patience + GRACE_SECONDS
        await connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{round(patience * 1000)}ms"])
        await connection.commit()
        unless_ready.pop_all()
    return connection


class _PlanningCursor(psycopg.AsyncCursor[Any]):
    """A cursor whose searches of texts are planned for the words that they look for: how many texts have them decides
    what is quick, and a statement that is prepared gets one plan for all words."""

    async def execute(self, query: Any, params: Any = None, *, prepare: bool | None = None, **options: Any) -> Self:
        is_search = isinstance(query, str) and " @@ " in query
        return await super().execute(query, params, prepare=False if is_search else prepare, **options)


class _LimitedConnection(psycopg.AsyncConnection[Any]):
    """A connection that is hung up when the server does not answer."""

    patience = 60.0

    async def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        hanging_up = asyncio.get_running_loop().call_later(self.patience, self._hang_up)
        try:
            return await super().wait(gen, interval, timeout)
        finally:
            hanging_up.cancel()

    def _hang_up(self) -> None:
        """Let whoever waits for the server learn that there is nothing to wait for."""
        if not self.closed:
            with socket.socket(fileno=os.dup(self.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)


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


def _make_private(file: Path) -> None:
    """Let only the owner read the database; SQLite gives the files beside it the same permissions."""
    make_folder(file.parent)
    # Where this is not possible, SQLite says so in its own words.
    with suppress(OSError):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for path in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        make_private(path)


def _create_sqlite_engine(url: URL, patience: float, pool: dict[str, int]) -> AsyncEngine:
    if url.database:
        _make_private(Path(url.database))
    engine = create_async_engine(
        url,
        module=SqliteDriver(),
        connect_args={"timeout": patience},
        pool_timeout=patience,
        hide_parameters=True,
        **pool,
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        # Transactions are begun below, explicitly, so that a writer takes the lock at once instead of failing later.
        connection.isolation_level = None
        cursor = connection.cursor()
        # What is deleted is overwritten: a text that somebody took back is not to be found in the file.
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        add_functions(connection)

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
