"""A server and a worker that start before their database do wait for it, as long as waiting can help."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.playground.starting.processes import Clocked
from tests.playground.support.postgres import PostgresServer
from tests.playground.support.server import Role
from tests.support.hanging import HANG_SECONDS, wait_until

WAITING = "cannot be reached yet; waiting for it"


@pytest.fixture
def late_postgres(mortal_postgres: PostgresServer) -> PostgresServer:
    """A PostgreSQL that is away."""
    mortal_postgres.stop()
    return mortal_postgres


@pytest.mark.parametrize("role", ["serve", "worker"])
def test_a_process_waits_for_a_database_that_starts_later(
    late_postgres: PostgresServer, tmp_path: Path, role: Role
) -> None:
    process = Clocked(role, role, tmp_path, database_url=late_postgres.url())
    with ThreadPoolExecutor(1) as thread:
        starting = thread.submit(process.start)
        wait_until(lambda: process.has_said(WAITING))
        late_postgres.start()
        starting.result()
    process.terminate()
    assert process.log.read_text().count(WAITING) == 1
    assert "Traceback" not in process.log.read_text()


def test_a_signal_ends_the_waiting(late_postgres: PostgresServer, tmp_path: Path) -> None:
    process = Clocked("serve", "server", tmp_path, database_url=late_postgres.url())
    child = process.spawn()
    try:
        wait_until(lambda: process.has_said(WAITING))
        child.send_signal(15)
        assert child.wait(HANG_SECONDS) == 0
    finally:
        child.send_signal(9)
        late_postgres.start()
    assert "Traceback" not in process.log.read_text()


def test_a_database_that_there_is_not_is_refused_at_once(mortal_postgres: PostgresServer, tmp_path: Path) -> None:
    process = Clocked("serve", "server", tmp_path, database_url=mortal_postgres.url("no_such_database"))
    assert process.spawn().wait(HANG_SECONDS) == 2
    said = process.log.read_text()
    assert said.startswith("tavernkit: The database cannot be used:")
    assert 'database "no_such_database" does not exist. See TAVERNKIT_DATABASE_URL.' in said
    assert said.count("\n") == 1
