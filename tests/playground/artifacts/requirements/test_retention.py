"""Nothing is lost in a database either, whatever is written, swept and reset."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import pytest

from tavernkit.artifacts import Retention
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.realtime.bus import Bus
from tests.artifacts.builders import NOW, SESSION, write
from tests.artifacts.store_contract import counted
from tests.playground.artifacts.database_store import DatabaseArtifactStore
from tests.playground.artifacts.test_store import add_sessions

pytestmark = pytest.mark.anyio

HAPPENINGS = 40


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[DatabaseArtifactStore]:
    database = Database(database_url, Bus())
    await add_sessions(database)
    yield DatabaseArtifactStore(database, ids=counted())
    await database.close()


def limits(chance: Random) -> Retention:
    return Retention(
        mode="durable",
        max_versions=chance.choice([None, 1, 2, 4]),
        max_turns=chance.choice([None, 1, 3]),
        ttl_seconds=chance.choice([None, 3600, 4 * 3600]),
    )


@pytest.mark.parametrize("seed", range(4))
async def test_r39_g15_every_version_is_kept_or_archived_exactly_once(store: DatabaseArtifactStore, seed: int) -> None:
    chance, now, turn, head, written = Random(seed), NOW, 0, None, 0
    for _ in range(HAPPENINGS):
        now, turn = now + timedelta(hours=chance.randrange(3)), turn + chance.randrange(2)
        match chance.choice(["write", "write", "write", "write", "reset"]):
            case "write":
                made = await store.write(write(f"v{written + 1}", head, now=now, turn=turn, retention=limits(chance)))
                head, written = made.version.version, written + 1
            case "reset":
                await store.reset(SESSION, ["mood"], now=now)
                head = None
        record = await store.get(SESSION, "mood")
        still = () if record is None else record.versions
        archived = [item for row in await store.archives(SESSION) for item in row.items]
        everything = sorted((*still, *archived), key=lambda item: item.version)
        assert [(item.version, item.content) for item in everything] == [(n, f"v{n}") for n in range(1, written + 1)]
        assert record is None or record.latest_version == head
