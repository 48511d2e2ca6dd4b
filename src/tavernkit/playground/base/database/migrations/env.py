"""How Alembic reaches the database: the URL comes from the program, never from a file."""

import asyncio

from alembic import context
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPIConnection

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.errors import DatabaseError
from tavernkit.playground.base.database.models import Run


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Run.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()
        if connection.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                raise DatabaseError(f"The upgrade would leave {len(broken)} rows without what they refer to.")


def _without_foreign_keys(connection: DBAPIConnection, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    cursor.close()


async def migrate_online() -> None:
    engine = create_engine(context.config.attributes["url"])
    if engine.dialect.name == "sqlite":
        # A table that is written anew is dropped first, which must not take along what refers to it.
        event.listen(engine.sync_engine, "connect", _without_foreign_keys)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(migrate)
            await connection.commit()
    finally:
        await engine.dispose()


given = context.config.attributes.get("connection")
if given is None:
    asyncio.run(migrate_online())
else:
    migrate(given)
