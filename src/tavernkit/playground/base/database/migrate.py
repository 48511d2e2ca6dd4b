"""Bringing a database up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.errors import DatabaseError, StorageFullError
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.values import Value


class SchemaState(Value, frozen=True, kw_only=True):
    """Which revision a database has, and which one this version of the program needs."""

    current: str | None
    newest: str | None

    @property
    def is_current(self) -> bool:
        return self.current == self.newest


async def upgrade(url: str) -> None:
    """Bring the database to the newest revision; one that is there already is left alone."""
    with reachable():
        async with start_lock(url):
            # Alembic reads all migrations again each time, which takes far longer than looking whether one is missing.
            if not (await check(url)).is_current:
                await asyncio.to_thread(command.upgrade, _config(url), "head")


async def check(url: str) -> SchemaState:
    """Look at the database's revision without changing anything."""
    engine = create_engine(url)
    try:
        with reachable():
            async with engine.connect() as connection:
                current = await connection.run_sync(revision_of)
    finally:
        await engine.dispose()
    return SchemaState(current=current, newest=_newest_revision())


@cache
def _newest_revision() -> str | None:
    """The revision that this version of the program needs."""
    return ScriptDirectory.from_config(_config("")).get_current_head()


def upgrade_within(connection: Connection, revision: str) -> None:
    """Bring the database to a revision inside the transaction that the connection is in."""
    config = _config("")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def knows_revision(revision: str) -> bool:
    """Whether this version of the program has heard of a revision."""
    return revision in {script.revision for script in ScriptDirectory.from_config(_config("")).walk_revisions()}


@contextmanager
def reachable() -> Iterator[None]:
    """Say in a sentence that a database cannot be used."""
    try:
        yield
    except StorageFullError:
        raise
    except OperationalError as error:
        reason = " ".join(str(error.orig).split()).rstrip(".?!")
        raise DatabaseError(f"The database cannot be used: {reason}. See TAVERNKIT_DATABASE_URL.") from error


def revision_of(connection: Connection) -> str | None:
    """The revision that the database says it has."""
    return MigrationContext.configure(connection).get_current_revision()


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["url"] = url
    return config
