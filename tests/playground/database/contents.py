"""Everything that is in a database, to compare it with another."""

from __future__ import annotations

from sqlalchemy import select

from tavernkit.playground.base.database.backup import DERIVED
from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.fulltext.rebuilding import REBUILD
from tavernkit.playground.base.database.models import TABLES

__all__ = ["contents"]


async def contents(url: str) -> dict[str, list[str]]:
    """Everything in a database, as the models read it; but for the search index, which is made from it."""
    engine = create_engine(url)
    try:
        async with engine.connect() as connection:
            return {
                table.name: sorted(
                    repr(tuple(row)) for row in await connection.execute(select(table)) if REBUILD not in row
                )
                for table in TABLES.values()
                if table.name != DERIVED
            }
    finally:
        await engine.dispose()
