"""Two processes at one database: of two writes with the same base exactly one succeeds."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

from tavernkit.errors import ArtifactConflict
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.realtime.bus import Bus
from tests.artifacts.builders import SESSION, id_of, write
from tests.playground.artifacts.database_store import DatabaseArtifactStore
from tests.playground.artifacts.test_store import add_sessions
from tests.playground.support.forking import Forked
from tests.support.hanging import HANG_SECONDS

WRITES = 40


def write_in_turn(arguments: Sequence[str]) -> None:
    """Write each version from the one before it, whoever has written that one; tell which writes succeeded."""
    url, name, result = arguments
    Path(result).write_text(json.dumps(asyncio.run(_write_all(url, name))))


async def _write_all(url: str, name: str) -> list[int]:
    database = Database(url, Bus())
    store = DatabaseArtifactStore(database, ids=lambda: id_of(name))
    won = []
    for base in range(1, WRITES + 1):
        # Both wait for the version that they build on, so that they always build on the same one.
        while True:
            record = await store.get(SESSION, "mood")
            if record is not None and record.latest_version is not None and record.latest_version >= base:
                break
        try:
            commit = await store.write(write(name, base))
        except ArtifactConflict:
            continue
        won.append(commit.version.version)
    await database.close()
    return won


async def _prepare(url: str) -> None:
    database = Database(url, Bus())
    await add_sessions(database)
    await DatabaseArtifactStore(database, ids=lambda: id_of("row")).write(write("first"))
    await database.close()


async def _written(url: str) -> list[tuple[int, object]]:
    database = Database(url, Bus())
    record = await DatabaseArtifactStore(database, ids=lambda: id_of("row")).get(SESSION, "mood")
    await database.close()
    assert record is not None
    return [(item.version, item.content) for item in record.versions]


def test_r35_of_two_processes_with_one_base_exactly_one_writes(database_url: str, tmp_path: Path) -> None:
    asyncio.run(_prepare(database_url))
    names = ("left", "right")
    results = [tmp_path / name for name in names]
    processes = [
        Forked(write_in_turn, [database_url, name, str(result)], dict(os.environ), tmp_path / f"{name}.log")
        for name, result in zip(names, results, strict=True)
    ]
    for name, process in zip(names, processes, strict=True):
        assert process.wait(HANG_SECONDS) == 0, (tmp_path / f"{name}.log").read_text()
    left, right = (json.loads(result.read_text()) for result in results)
    # Every version was written, each by one of the two.
    assert sorted([*left, *right]) == list(range(2, WRITES + 2))
    by_version = {version: name for name, versions in zip(names, (left, right), strict=True) for version in versions}
    assert asyncio.run(_written(database_url)) == [(1, "first"), *sorted(by_version.items())]
