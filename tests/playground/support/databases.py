"""Fixtures that give a test an empty database, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.playground.support.postgres import PostgresServer, running_postgres

__all__ = ["database_url", "postgres_server", "postgres_url", "sqlite_url"]


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
    return f"sqlite+aiosqlite:///{tmp_path}/t.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database; the test runs once on each kind."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url = request.getfixturevalue(name)
    assert isinstance(url, str)
    return url
