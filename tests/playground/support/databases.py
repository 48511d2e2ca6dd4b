"""Fixtures that give a test a database of its own, on SQLite and on PostgreSQL.

Bringing an empty database up to date takes longer than most tests, so it is done once, and tests get copies.
"""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.database.migrate import upgrade
from tests.playground.support.compiling import share_compiled_statements
from tests.playground.support.postgres import PostgresServer, ReusedDatabases, running_postgres

__all__ = [
    "database_url",
    "empty_database_url",
    "migrated_database_url",
    "migrated_postgres",
    "migrated_postgres_copies",
    "migrated_postgres_url",
    "migrated_sqlite",
    "migrated_sqlite_url",
    "new_database_url",
    "new_sqlite_url",
    "on_sqlite",
    "postgres_server",
    "postgres_story_copies",
    "postgres_story_url",
    "postgres_url",
    "postgres_with_story",
    "shared_story_url",
    "sqlite_url",
    "sqlite_with_story",
]

KINDS = ["sqlite", "postgresql"]

share_compiled_statements()

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""Of tests, or modules of tests, about what is above the database: one kind is enough."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The one PostgreSQL of this test run."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty PostgreSQL database of the test's own."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.forget_database(name)


@pytest.fixture
def new_sqlite_url(tmp_path: Path) -> str:
    """The address of an SQLite file that does not exist yet."""
    return _sqlite(tmp_path / "t.db")


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> str:
    """The name of a database that is up to date, for copies."""
    name = postgres_server.create_database()
    asyncio.run(upgrade(postgres_server.url(name)))
    return name


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file that is up to date, for copies."""
    file = tmp_path_factory.mktemp("migrated") / "t.db"
    asyncio.run(upgrade(_sqlite(file)))
    return file


@pytest.fixture(scope="session")
def postgres_with_story(
    postgres_server: PostgresServer, migrated_postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The name of a database in which `one_story` has begun, for copies."""
    name = postgres_server.create_database(template=migrated_postgres)
    asyncio.run(_begin_story(postgres_server.url(name), tmp_path_factory.mktemp("begun")))
    return name


@pytest.fixture(scope="session")
def sqlite_with_story(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file in which `one_story` has begun, for copies."""
    file = tmp_path_factory.mktemp("begun") / "t.db"
    shutil.copy(migrated_sqlite, file)
    asyncio.run(_begin_story(_sqlite(file), file.parent))
    return file


async def _begin_story(url: str, folder: Path) -> None:
    # Imported here: most test runs of the library need nothing of the application.
    from tavernkit.playground.base.config import AppConfig
    from tavernkit.playground.base.runtime import open_runtime
    from tests.playground.stories import one_story

    async with open_runtime(AppConfig(data_dir=folder, database_url=url)) as runtime:
        await one_story(runtime)


@pytest.fixture(scope="session")
def migrated_postgres_copies(postgres_server: PostgresServer, migrated_postgres: str) -> ReusedDatabases:
    return ReusedDatabases(postgres_server, migrated_postgres)


@pytest.fixture(scope="session")
def postgres_story_copies(postgres_server: PostgresServer, postgres_with_story: str) -> ReusedDatabases:
    return ReusedDatabases(postgres_server, postgres_with_story)


@pytest.fixture
def migrated_postgres_url(migrated_postgres_copies: ReusedDatabases) -> Iterator[str]:
    with migrated_postgres_copies.lend() as url:
        yield url


@pytest.fixture
def migrated_sqlite_url(tmp_path: Path, migrated_sqlite: Path) -> str:
    shutil.copy(migrated_sqlite, tmp_path / "t.db")
    return _sqlite(tmp_path / "t.db")


@pytest.fixture
def postgres_story_url(postgres_story_copies: ReusedDatabases) -> Iterator[str]:
    with postgres_story_copies.lend() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_with_story: Path) -> str:
    """The address of an SQLite file in which `one_story` has begun."""
    shutil.copy(sqlite_with_story, tmp_path / "t.db")
    return _sqlite(tmp_path / "t.db")


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a database in which `one_story` has begun; the test runs once on each kind."""
    return _address(request, "sqlite_url", "postgres_story_url")


@pytest.fixture(params=KINDS)
def migrated_database_url(request: pytest.FixtureRequest) -> str:
    """The address of a database that is up to date and holds nothing; the test runs once on each kind."""
    return _address(request, "migrated_sqlite_url", "migrated_postgres_url")


@pytest.fixture(params=KINDS)
def empty_database_url(request: pytest.FixtureRequest) -> str:
    """The address of a database without any table; the test runs once on each kind."""
    return _address(request, "new_sqlite_url", "postgres_url")


def new_database_url(kind: str, folder: Path, server: PostgresServer) -> str:
    """The address of a database of this kind without any table; an SQLite file is made in the folder."""
    return server.url(server.create_database()) if kind == "postgresql" else _sqlite(folder / f"{uuid4().hex}.db")


def shared_story_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    """The address of a database of this kind in which `one_story` has begun, for several tests together."""
    if kind == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.url(server.create_database(template=request.getfixturevalue("postgres_with_story")))
    shutil.copy(request.getfixturevalue("sqlite_with_story"), folder / "t.db")
    return _sqlite(folder / "t.db")


def _address(request: pytest.FixtureRequest, on_sqlite: str, on_postgresql: str) -> str:
    url = request.getfixturevalue(on_sqlite if request.param == "sqlite" else on_postgresql)
    assert isinstance(url, str)
    return url


def _sqlite(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"
