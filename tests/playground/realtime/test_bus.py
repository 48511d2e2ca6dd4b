"""The bus, within one process and across several: in order, whole, and bounded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from tavernkit.playground.base.realtime.bus import BACKLOG, Bus, Subscription
from tavernkit.playground.base.realtime.postgres_bus import PostgresBus
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio

END = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE %s
"""


@asynccontextmanager
async def bus_pair(url: str) -> AsyncIterator[tuple[Bus, Bus]]:
    """Where something is published, and where it is heard: two processes if the database can have several."""
    local = Bus()
    buses: list[Bus] = [PostgresBus(url), PostgresBus(url)] if url.startswith("postgresql") else [local, local]
    for bus in buses:
        await bus.start()
    try:
        yield buses[0], buses[1]
    finally:
        for bus in buses:
            await bus.close()


async def hear(subscription: Subscription, count: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while len(items) < count:
        item = await subscription.next(unless=asyncio.Event(), within=HANG_SECONDS)
        assert item is not None
        items.append(item)
    return items


async def test_what_is_published_is_heard_by_those_who_listen_to_it(database_url: str) -> None:
    async with bus_pair(database_url) as (here, there), there.subscribe("a", "b") as listener:
        await here.publish("a", {"n": 1})
        await here.publish("c", {"n": 2})
        await here.publish("b", {"n": 3})
        assert await hear(listener, 2) == [{"n": 1}, {"n": 3}]


async def test_what_is_published_at_once_arrives_in_order_and_none_is_folded(database_url: str) -> None:
    async with bus_pair(database_url) as (here, there), there.subscribe("a") as listener:
        await asyncio.gather(*(here.publish("a", {"n": n // 2}) for n in range(400)))
        assert [item["n"] for item in await hear(listener, 400)] == [n // 2 for n in range(400)]


async def test_long_items_arrive_whole_and_in_their_place(database_url: str) -> None:
    long = {"text": "ü🦉" * 20_000}
    async with bus_pair(database_url) as (here, there), there.subscribe("a") as listener:
        items: list[dict[str, Any]] = [{"n": 1}, long, long, {"n": 2}, long]
        await asyncio.gather(*(here.publish("a", item) for item in items))
        assert await hear(listener, 5) == items


async def test_a_listener_that_is_too_slow_is_told_so_and_holds_no_more_than_a_backlog() -> None:
    bus = Bus()
    async with bus.subscribe("a") as listener:
        for n in range(BACKLOG + 10):
            await bus.publish("a", {"n": n})
        items = await listener.all_next(unless=asyncio.Event(), within=HANG_SECONDS)
        assert items == [{"gap": True}, *({"n": n} for n in range(BACKLOG + 1, BACKLOG + 10))]


async def test_nothing_is_heard_when_the_time_has_passed_or_it_is_time_to_leave() -> None:
    leaving = asyncio.Event()
    async with Bus().subscribe("a") as listener:
        assert await listener.next(unless=leaving, within=0.01) is None
        waiting = asyncio.ensure_future(listener.all_next(unless=leaving, within=600))
        await asyncio.sleep(0)
        leaving.set()
        async with asyncio.timeout(HANG_SECONDS):
            assert await waiting == []
            assert await listener.next(unless=leaving, within=600) is None


async def test_a_sender_whose_connection_broke_takes_another(migrated_postgres_url: str) -> None:
    async with (
        bus_pair(migrated_postgres_url) as (here, there),
        there.subscribe("a") as listener,
        await psycopg.AsyncConnection.connect(_conninfo(migrated_postgres_url), autocommit=True) as database,
    ):
        await here.publish("a", {"n": 1})
        assert await hear(listener, 1) == [{"n": 1}]
        await database.execute(END, ("SELECT pg_notify%",))
        await here.publish("a", {"n": 2})
        assert await hear(listener, 1) == [{"n": 2}]


async def test_a_listener_that_was_cut_off_is_told_that_it_may_have_missed_something(
    migrated_postgres_url: str,
) -> None:
    async with (
        bus_pair(migrated_postgres_url) as (here, there),
        there.subscribe("a") as listener,
        await psycopg.AsyncConnection.connect(_conninfo(migrated_postgres_url), autocommit=True) as database,
    ):
        await database.execute(END, ("LISTEN%",))
        assert await hear(listener, 1) == [{"gap": True}]
        await here.publish("a", {"n": 1})
        assert await hear(listener, 1) == [{"n": 1}]


async def test_a_listener_goes_on_after_a_notification_that_cannot_be_read(migrated_postgres_url: str) -> None:
    async with (
        bus_pair(migrated_postgres_url) as (here, there),
        there.subscribe("a") as listener,
        await psycopg.AsyncConnection.connect(_conninfo(migrated_postgres_url), autocommit=True) as database,
    ):
        await database.execute("SELECT pg_notify('tavernkit', E'.0 a\\n{')")
        assert await hear(listener, 1) == [{"gap": True}]
        await here.publish("a", {"n": 1})
        assert await hear(listener, 1) == [{"n": 1}]


def _conninfo(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
