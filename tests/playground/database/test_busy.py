"""A database that is busy, and errors that nobody was ready for, are answered in the form that who asks can read."""

import asyncio
import sqlite3
from pathlib import Path

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import event, make_url, text

from tavernkit.playground.base.database.engine import POOLS, Connections, connect_with_limit
from tavernkit.playground.base.database.errors import DatabaseBusyError
from tavernkit.playground.edge.app import create_app
from tests.playground.accounts.installation import ORIGIN, Installation, open_installation
from tests.playground.support.postgres import PostgresServer
from tests.support.hanging import HANG_SECONDS, wait_until

pytestmark = pytest.mark.anyio


async def test_another_process_that_writes_is_waited_for_and_then_said(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path, database_patience_seconds=1) as installation:
        other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await assert_busy(installation)
        other.execute("COMMIT")
        other.close()
        assert (await installation.browser().post("/api/v1/api_keys", json={"name": "k"})).status_code == 201


async def test_who_stands_in_the_queue_of_writers_too_long_is_sent_away(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path, database_patience_seconds=1) as installation:
        async with installation.runtime.database.write():
            await assert_busy(installation)
        assert (await installation.browser().post("/api/v1/api_keys", json={"name": "k"})).status_code == 201


async def test_writers_get_their_turn_in_the_order_in_which_they_came(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        order: list[str] = []
        queued = asyncio.Event()

        async def write(name: str, times: int) -> None:
            for _ in range(times):
                async with installation.runtime.database.write():
                    await queued.wait()
                    order.append(name)

        long = asyncio.create_task(write("long", 3))
        await asyncio.sleep(0)
        short = [asyncio.create_task(write(f"short {number}", 1)) for number in range(2)]
        await asyncio.sleep(0)
        queued.set()
        await asyncio.gather(long, *short)
        assert order == ["long", "short 0", "short 1", "long", "long"]


async def test_a_lease_is_written_before_those_who_wait_in_the_queue(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        order: list[str] = []
        all_wait = asyncio.Event()

        async def write(name: str, connections: Connections) -> None:
            async with installation.runtime.database.apart(connections).write():
                await all_wait.wait()
                order.append(name)

        writers = [asyncio.create_task(write(f"work {number}", "work")) for number in range(3)]
        writers.append(asyncio.create_task(write("lease", "leases")))
        await asyncio.sleep(0)
        all_wait.set()
        await asyncio.gather(*writers)
        assert order == ["work 0", "lease", "work 1", "work 2"]


async def test_no_free_connection_is_a_busy_database(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path, database_patience_seconds=1) as installation:
        engine = installation.runtime.database.engine
        taken = [await engine.connect() for _ in range(sum(POOLS["requests"]))]
        answer = await installation.browser().get("/api/v1/me")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database_busy")
        for connection in taken:
            await connection.close()
        assert (await installation.browser().get("/api/v1/me")).status_code == 200


LONG = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(60)",
}


async def test_who_is_cancelled_while_the_database_works_is_not_told_that_it_is_busy(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        engine, is_asked = installation.runtime.database.engine, asyncio.Event()

        async def look() -> None:
            async with installation.runtime.database.read() as session:
                await session.execute(text(LONG[engine.dialect.name]))

        event.listen(engine.sync_engine, "before_cursor_execute", lambda *_: is_asked.set())
        looking = asyncio.create_task(look())
        await is_asked.wait()
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        assert (await installation.browser().get("/api/v1/me")).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/broken", "/v1/broken", "/broken"])
async def test_an_unexpected_error_has_the_form_of_its_surface(sqlite_url: str, tmp_path: Path, path: str) -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    async with open_installation(sqlite_url, tmp_path) as installation:
        app: FastAPI = create_app(installation.runtime, installation.play.user_id)
        app.add_api_route(path, broken)
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            answer = await client.get(path)
    assert (answer.status_code, "An internal error occurred" in answer.text) == (500, True)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if path == "/broken":
        assert answer.headers["Content-Type"].startswith("text/html")
    else:
        assert answer.json()["error"]["code"] == "internal_error"


async def assert_busy(installation: Installation) -> None:
    browser = installation.browser()
    answer = await browser.post("/api/v1/api_keys", json={"name": "k"})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert answer.json()["error"] == {
        "code": "database_busy",
        "sentence": str(DatabaseBusyError(OSError())),
        "current": None,
    }
    place = f"/conversations/{installation.play.conversation_id}"
    page = await browser.post(f"{place}/messages", data={"content": "Hello?"})
    assert (page.status_code, "The database is busy" in page.text) == (503, True)
    assert (await browser.get(place)).status_code == 200


async def test_a_connection_that_does_not_become_ready_is_closed(postgres_server: PostgresServer) -> None:
    address = make_url(postgres_server.url()).set(drivername="postgresql").render_as_string()
    with pytest.raises(psycopg.Error, match="statement_timeout"):
        # Less than nothing is no limit that a server takes.
        await connect_with_limit(address, patience=-1, connect_timeout=HANG_SECONDS, application_name="unready")
    with postgres_server.connect() as connection:
        unready = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'unready'"
        wait_until(lambda: connection.execute(unready).fetchone() == (0,))
