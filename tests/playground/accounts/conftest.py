"""A house on each kind of database. The tables are made once and copied, for each of many tests wants empty ones."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from psycopg import sql

from tavernkit.playground.base.database.migrate import upgrade
from tests.playground.accounts.house import House, open_house
from tests.playground.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("migrated") / "empty.db"
    asyncio.run(upgrade(f"sqlite+aiosqlite:///{file}"))
    return file


@pytest.fixture(scope="session")
def migrated_name(postgres_server: PostgresServer) -> str:
    name = postgres_server.create_database()
    asyncio.run(upgrade(postgres_server.url(name)))
    return name


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    shutil.copy(migrated_file, tmp_path / "t.db")
    return f"sqlite+aiosqlite:///{tmp_path}/t.db"


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, migrated_name: str) -> Iterator[str]:
    name = f"{migrated_name}_{next(_numbers)}"
    with postgres_server.connect() as connection:
        names = map(sql.Identifier, (name, migrated_name))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
    yield postgres_server.url(name)
    postgres_server.forget_database(name)


_numbers = iter(range(1, 10**6))


@pytest.fixture
async def house(database_url: str, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(database_url, tmp_path) as house:
        yield house
