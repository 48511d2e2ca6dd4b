"""Several processes that start at once on an empty database make one application of it."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.models import Character, Provider, Space, User
from tests.playground.starting.processes import Clocked
from tests.playground.support.postgres import PostgresServer

ROUNDS = int(os.environ.get("TAVERNKIT_STARTS", "1"))
"""How often to start; on SQLite it is done once."""
PROCESSES = 4 if ROUNDS == 1 else 8


@pytest.mark.parametrize("round", range(ROUNDS))
def test_processes_that_start_at_once_on_postgresql(
    postgres_server: PostgresServer, tmp_path: Path, round: int
) -> None:
    name = postgres_server.create_database()
    start_together(tmp_path, postgres_server.url(name))
    postgres_server.forget_database(name)


def test_processes_that_start_at_once_on_sqlite(new_sqlite_url: str, tmp_path: Path) -> None:
    start_together(tmp_path, new_sqlite_url)


def start_together(folder: Path, database_url: str) -> None:
    """Start servers and workers at the same moment; all are there then, and what they begin with is there once."""
    processes = [
        Clocked("worker" if number % 4 == 3 else "serve", f"process-{number}", folder, database_url=database_url)
        for number in range(PROCESSES)
    ]
    with ExitStack() as opened, ThreadPoolExecutor(PROCESSES) as threads:
        for process in processes:
            opened.callback(process.stop)
        list(threads.map(Clocked.start, processes))
    assert asyncio.run(count_rows(database_url)) == {"User": 1, "Provider": 1, "Character": 2, "Space": 2}
    assert not [process.name for process in processes if "Traceback" in process.log.read_text()]


async def count_rows(database_url: str) -> dict[str, int]:
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        counts = {
            table.__name__: await connection.scalar(select(func.count()).select_from(table)) or 0
            for table in (User, Provider, Character, Space)
        }
    await engine.dispose()
    return counts
