"""SQLite's driver, which goes to another thread only where something may take long.

The usual one sends four messages to its thread for each statement: to open a cursor, to execute, to fetch, to close.
Each wakes another thread and the event loop again, which takes longer than most statements. Here a statement sends one,
and a short SELECT none: once a transaction has read something, or may write, nothing that it reads waits for a lock.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import aiosqlite
from sqlalchemy import LargeBinary
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
    AsyncAdapt_aiosqlite_dbapi,
)

from tavernkit.playground.base.database.base import Base

LONG_STEPS = 25_000
"""A SELECT that takes two times as many steps of SQLite's virtual machine, about a millisecond, begins anew in the
thread."""
_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|REPLACE)\b")


class _Connection(aiosqlite.Connection):
    """A connection of a thread, which the event loop uses too while the thread has nothing to do."""

    _sent = 0
    _done = 0
    """How many messages the thread got, and has dealt with."""
    _has_lock = False
    """Whether the transaction is one that has read or may write."""
    _may_write = False
    _late = 0

    async def execute_all(self, carry_out: Callable[[], None], operation: str) -> None:
        """Carry out a statement with everything that it returns."""
        if operation == "BEGIN" and self._is_idle:
            # Only the first statement behind it opens the file.
            carry_out()
        elif not (_is_counted(operation) and self._has_lock and self._is_idle and self._carried_out(carry_out)):
            await self._execute(carry_out)
            self._may_write |= not _is_read(operation)
            self._has_lock = self._conn.in_transaction

    async def commit(self) -> None:
        await self._end(self._conn.commit)

    async def rollback(self) -> None:
        await self._end(self._conn.rollback)

    async def _end(self, end: Callable[[], None]) -> None:
        is_short = not self._may_write and self._is_idle
        self._has_lock = self._may_write = False
        if is_short:
            end()
        else:
            await self._execute(end)

    async def _execute(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        self._sent += 1

        def counted() -> Any:
            try:
                return fn(*args, **kwargs)
            finally:
                self._done += 1

        send: Any = super()._execute
        return await send(counted)

    @property
    def _is_idle(self) -> bool:
        # Whoever was cancelled has left the thread to its work.
        return self._sent == self._done and self._running and self._connection is not None

    def _carried_out(self, carry_out: Callable[[], None]) -> bool:
        """Carry out a SELECT here and now, unless it is long."""
        self._late = 0
        self._conn.set_progress_handler(self._is_long, LONG_STEPS)
        try:
            carry_out()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return False
        finally:
            self._conn.set_progress_handler(None, 0)
        return True

    def _is_long(self) -> bool:
        # SQLite counts on where the statement stopped the last time, so that the first call says little.
        self._late += 1
        return self._late > 1


@lru_cache(1024)
def _is_read(operation: str) -> bool:
    """Whether a statement only reads."""
    return operation.startswith(("SELECT", "WITH")) and not _WRITES.search(operation)


@lru_cache(1024)
def _is_counted(operation: str) -> bool:
    """Whether a statement only reads, and takes more steps the longer it takes: not bytes, such as those of pictures,
    which are many in few steps, nor words in the index of texts, of which all are found in one."""
    if not _is_read(operation) or " MATCH " in operation:
        return False
    return not any(table in operation for table in _tables_with_bytes())


@lru_cache(1)
def _tables_with_bytes() -> tuple[str, ...]:
    columns = (column for table in Base.metadata.tables.values() for column in table.columns)
    return tuple({column.table.name for column in columns if isinstance(column.type, LargeBinary)})


class _Statement:
    """A cursor that fetches everything when it executes, and is closed by then."""

    arraysize = 1
    rowcount = -1
    lastrowid: int | None = None
    description: Any = None

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._rows: Sequence[Any] = ()

    async def execute(self, operation: str, parameters: Any = ()) -> None:
        await self._connection.execute_all(
            lambda: self._carry_out(sqlite3.Cursor.execute, operation, parameters), operation
        )

    async def executemany(self, operation: str, parameters: Any) -> None:
        await self._connection.execute_all(
            lambda: self._carry_out(sqlite3.Cursor.executemany, operation, parameters), operation
        )

    async def fetchall(self) -> Sequence[Any]:
        return self._rows

    async def close(self) -> None:
        """There is nothing left to close."""

    def _carry_out(self, execute: Any, operation: str, parameters: Any) -> None:
        cursor = self._connection._conn.cursor()
        try:
            execute(cursor, operation, parameters)
            self.description = cursor.description
            self._rows = cursor.fetchall() if cursor.description else ()
            self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()


class _Cursor(AsyncAdapt_aiosqlite_cursor):
    __slots__ = ()

    def _make_new_cursor(self, connection: Any) -> Any:
        return _Statement(connection)

    def _aenter_cursor(self, cursor: Any) -> Any:
        return cursor


class _AdaptedConnection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ()

    _cursor_cls = _Cursor


class SqliteDriver(AsyncAdapt_aiosqlite_dbapi):
    """For `create_async_engine(module=…)`. Rows that are streamed go the usual way."""

    def __init__(self) -> None:
        super().__init__(aiosqlite, sqlite3)

    def connect(self, *args: Any, **options: Any) -> _AdaptedConnection:
        def create(*args: Any, **options: Any) -> _Connection:
            connection = _Connection(lambda: sqlite3.connect(*args, **options), iter_chunk_size=64)
            connection._thread.daemon = True
            return connection

        return _AdaptedConnection(self, super().connect(*args, async_creator_fn=create, **options)._connection)
