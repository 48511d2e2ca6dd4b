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
from tests.playground.support.postgres import PostgresServer, running_postgres

__all__ = [
    "database_url",
    "empty_database_url",
    "migrated_postgres",
    "migrated_postgres_url",
    "migrated_sqlite",
    "migrated_sqlite_url",
    "new_database_url",
    "postgres_server",
    "postgres_url",
    "sqlite_url",
]

KINDS = ["sqlite", "postgresql"]


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
def sqlite_url(tmp_path: Path) -> str:
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


@pytest.fixture
def migrated_postgres_url(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    name = postgres_server.create_database(template=migrated_postgres)
    yield postgres_server.url(name)
    postgres_server.forget_database(name)


@pytest.fixture
def migrated_sqlite_url(tmp_path: Path, migrated_sqlite: Path) -> str:
    shutil.copy(migrated_sqlite, tmp_path / "t.db")
    return _sqlite(tmp_path / "t.db")


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a database that is up to date and holds nothing; the test runs once on each kind."""
    return _address(request, "migrated_sqlite_url", "migrated_postgres_url")


@pytest.fixture(params=KINDS)
def empty_database_url(request: pytest.FixtureRequest) -> str:
    """The address of a database without any table; the test runs once on each kind."""
    return _address(request, "sqlite_url", "postgres_url")


def new_database_url(kind: str, folder: Path, server: PostgresServer) -> str:
    """The address of a database of this kind without any table; an SQLite file is made in the folder."""
    return server.url(server.create_database()) if kind == "postgresql" else _sqlite(folder / f"{uuid4().hex}.db")


def _address(request: pytest.FixtureRequest, on_sqlite: str, on_postgresql: str) -> str:
    url = request.getfixturevalue(on_sqlite if request.param == "sqlite" else on_postgresql)
    assert isinstance(url, str)
    return url


def _sqlite(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"
