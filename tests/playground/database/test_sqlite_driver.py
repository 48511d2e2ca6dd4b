"""Which statements wake SQLite's thread: what may be long, may wait for a lock, or writes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from tavernkit.playground.base.database.engine import create_engine
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :last) SELECT max(i) FROM n"


class Numbers:
    """A table of numbers, and a connection to it."""

    def __init__(self, connection: AsyncConnection, driver: Any) -> None:
        self.connection = connection
        self.driver = driver

    @property
    def messages(self) -> int:
        """How many messages the thread of the connection got."""
        sent: int = self.driver._sent
        return sent

    async def ask(self, statement: str, **values: object) -> Any:
        return (await self.connection.execute(text(statement), values)).scalar()


@asynccontextmanager
async def numbers(folder: Path) -> AsyncIterator[Numbers]:
    engine = create_engine(f"sqlite+aiosqlite:///{folder / 'numbers.db'}")
    try:
        async with engine.connect() as connection:
            await connection.execution_options(writes=True)
            await connection.execute(text("CREATE TABLE numbers (number INTEGER)"))
            await connection.commit()
            yield Numbers(connection, (await connection.get_raw_connection()).driver_connection)
    finally:
        await engine.dispose()


async def test_reading_again_sends_nothing_to_the_thread(tmp_path: Path) -> None:
    async with numbers(tmp_path) as table:
        await table.connection.execution_options(writes=False)
        await table.ask("SELECT count(*) FROM numbers")
        before = table.messages
        assert [await table.ask("SELECT :number", number=number) for number in range(10)] == list(range(10))
        await table.connection.rollback()
        assert table.messages == before


async def test_the_first_statement_and_every_change_go_to_the_thread(tmp_path: Path) -> None:
    async with numbers(tmp_path) as table:
        for statement in ("SELECT 1", "INSERT INTO numbers VALUES (1)", "UPDATE numbers SET number = 2"):
            before = table.messages
            await table.connection.execute(text(statement))
            assert table.messages > before
        before = table.messages
        await table.connection.commit()
        assert table.messages > before
        assert await table.ask("SELECT number FROM numbers") == 2


async def test_a_long_select_is_carried_out_in_the_thread(tmp_path: Path) -> None:
    async with numbers(tmp_path) as table:
        await table.ask("SELECT 1")
        before = table.messages
        assert await table.ask(COUNT, last=10) == 10
        assert table.messages == before
        assert await table.ask(COUNT, last=200_000) == 200_000
        assert table.messages == before + 1


async def test_a_search_of_texts_is_carried_out_in_the_thread_and_writes_nothing(tmp_path: Path) -> None:
    async with numbers(tmp_path) as table:
        await table.connection.execute(text("CREATE VIRTUAL TABLE texts USING fts5(content)"))
        await table.connection.execute(text("INSERT INTO texts VALUES ('a brass lantern')"))
        await table.connection.commit()
        await table.connection.execution_options(writes=False)
        await table.ask("SELECT 1")
        before = table.messages
        assert await table.ask("SELECT count(*) FROM texts WHERE texts MATCH :word", word="brass") == 1
        assert table.messages == before + 1
        await table.connection.rollback()
        assert table.messages == before + 1


async def test_who_is_cancelled_leaves_a_connection_that_waits_for_its_thread(tmp_path: Path) -> None:
    async with numbers(tmp_path) as table:
        await table.ask("SELECT 1")
        asked = asyncio.create_task(table.ask(COUNT, last=2_000_000))
        before = table.messages
        await eventually(lambda: table.messages > before)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await table.connection.rollback()
        assert await table.ask("SELECT 1") == 1


async def test_what_is_wrong_with_a_select_is_said_once(tmp_path: Path) -> None:
    async with numbers(tmp_path) as table:
        await table.ask("SELECT 1")
        before = table.messages
        with pytest.raises(Exception, match="no such table: letters"):
            await table.ask("SELECT * FROM letters")
        assert table.messages == before
