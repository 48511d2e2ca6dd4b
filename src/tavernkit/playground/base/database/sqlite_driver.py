"""SQLite's driver, with one message to its thread for each statement.

The usual one sends four: to open a cursor, to execute, to fetch, to close. Each wakes another thread and the event loop
again, which takes longer than most statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import aiosqlite
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
    AsyncAdapt_aiosqlite_dbapi,
)


class _Statement:
    """A cursor that fetches everything when it executes, and is closed by then."""

    arraysize = 1
    rowcount = -1
    lastrowid: int | None = None
    description: Any = None

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._rows: Sequence[Any] = ()

    async def execute(self, operation: str, parameters: Any = ()) -> None:
        await self._connection._execute(self._carry_out, sqlite3.Cursor.execute, operation, parameters)

    async def executemany(self, operation: str, parameters: Any) -> None:
        await self._connection._execute(self._carry_out, sqlite3.Cursor.executemany, operation, parameters)

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


class _Connection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ()

    _cursor_cls = _Cursor


class SqliteDriver(AsyncAdapt_aiosqlite_dbapi):
    """For `create_async_engine(module=…)`. Rows that are streamed go the usual way."""

    def __init__(self) -> None:
        super().__init__(aiosqlite, sqlite3)

    def connect(self, *args: Any, **options: Any) -> _Connection:
        return _Connection(self, super().connect(*args, **options)._connection)
