"""How Alembic reaches the database: the URL comes from the program, never from a file."""

import asyncio

from alembic import context
from sqlalchemy.engine import Connection

from tavernkit.playground.database.engine import create_engine
from tavernkit.playground.database.models import Run


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Run.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def migrate_online() -> None:
    engine = create_engine(context.config.attributes["url"])
    try:
        async with engine.connect() as connection:
            await connection.run_sync(migrate)
            await connection.commit()
    finally:
        await engine.dispose()


asyncio.run(migrate_online())
