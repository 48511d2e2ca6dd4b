"""Which statements PostgreSQL plans once: those that only read too, but no search, whose plan depends on the words."""

import pytest
from sqlalchemy import text

from tavernkit.playground.base.database.engine import Database
from tavernkit.playground.base.realtime.bus import Bus

pytestmark = pytest.mark.anyio

READ = "SELECT name FROM users WHERE name = :asked"
SEARCH = "SELECT id FROM search_documents WHERE tokens @@ CAST(:asked AS tsquery)"


async def test_statements_that_read_are_prepared_and_searches_are_not(migrated_postgres_url: str) -> None:
    database = Database(migrated_postgres_url, Bus())
    try:
        for _ in range(10):
            async with database.read() as session:
                for statement in (READ, SEARCH):
                    await session.execute(text(statement), {"asked": "key"})
        async with database.read() as session:
            prepared = (await session.scalars(text("SELECT statement FROM pg_prepared_statements"))).all()
        assert any("FROM users" in one for one in prepared)
        assert not any("search_documents" in one for one in prepared)
    finally:
        await database.close()
