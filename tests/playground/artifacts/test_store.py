"""The store in a database keeps the contract of all stores, on each kind of database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import text

from tavernkit.artifacts import ArtifactRecord, Commit, Retention
from tavernkit.errors import ArtifactConflict
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.models import Conversation, Space, User
from tavernkit.playground.base.realtime.bus import Bus
from tests.artifacts.builders import NOW, SESSION, id_of, write
from tests.artifacts.store_contract import ELSEWHERE, OVERWRITE, StoreContract, StoreFactory, counted
from tests.playground.artifacts.database_store import DatabaseArtifactStore
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio


async def add_sessions(database: Database) -> None:
    """The conversations that the contract speaks of, and whose they are."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    owner, space = UUID(SESSION.owner_id), UUID(id_of("space"))
    async with database.write() as session:
        session.add(User(id=owner, name="Ada", created_at=now))
        await session.flush()
        session.add(Space(id=space, owner_id=owner, name="Room", created_at=now, updated_at=now))
        await session.flush()
        for title, place in (("Here", SESSION), ("There", ELSEWHERE)):
            id = UUID(place.session_id)
            session.add(Conversation(id=id, space_id=space, title=title, created_at=now, updated_at=now))


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, Bus())
    await add_sessions(opened)
    yield opened
    await opened.close()


class TestDatabaseStore(StoreContract):
    @pytest.fixture
    def make_store(self, database: Database) -> StoreFactory:
        return lambda ids: DatabaseArtifactStore(database, ids=ids)


async def test_r35_of_two_connections_with_one_base_exactly_one_writes(database: Database, database_url: str) -> None:
    other = Database(database_url, Bus())
    stores = [DatabaseArtifactStore(each, ids=counted()) for each in (database, other)]
    for base in (None, *range(1, 10)):
        outcomes = await asyncio.gather(
            *(store.write(write(f"{place} {base}", base)) for place, store in enumerate(stores)), return_exceptions=True
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == [ArtifactConflict.__name__, Commit.__name__]
    await other.close()
    record = await stores[0].get(SESSION, "mood")
    assert isinstance(record, ArtifactRecord)
    assert [item.version for item in record.versions] == list(range(1, 11))


async def test_r32_a_session_is_read_by_one_statement_of_each_kind(database: Database) -> None:
    store = DatabaseArtifactStore(database, ids=counted())

    async def statements() -> list[int]:
        counts = []
        for reading in (store.load(SESSION), store.get(SESSION, "tag_0"), store.archives(SESSION)):
            with counted_statements(database) as sent:
                await reading
            counts.append(len(sent))
        return counts

    for number in range(2):
        await store.write(write(f"{number}", number or None, tag="tag_0", retention=OVERWRITE))
    few = await statements()
    for tag in range(1, 8):
        for number in range(12):
            await store.write(write(f"{number}", number or None, tag=f"tag_{tag}"))
    assert len(await store.load(SESSION)) == 8
    assert await statements() == few == [2, 2, 1]


@pytest.mark.parametrize("retention", [Retention(), Retention(mode="windowed", max_versions=20)], ids=["all", "window"])
async def test_r32_a_write_reads_no_version_that_stays(database: Database, retention: Retention) -> None:
    store = DatabaseArtifactStore(database, ids=counted())
    for number in range(12):
        await store.write(write(f"{number}", number or None, retention=retention))
    # Whoever reads one of them from now on cannot.
    async with database.write() as session:
        await session.execute(text("UPDATE artifact_versions SET content = '{'"))
    with pytest.raises(json.JSONDecodeError):
        await store.load(SESSION)
    await store.reserve(write("calm").artifact, "weather")
    commit = await store.write(write("calm", 12, retention=retention))
    assert (commit.version.version, commit.archived) == (13, ())


async def test_limits_beyond_all_counting_are_none(database: Database) -> None:
    store = DatabaseArtifactStore(database, ids=counted())
    endless = Retention(mode="windowed", max_versions=10**30, max_turns=10**30)
    for number in range(3):
        await store.write(write(f"{number}", number or None, retention=endless, turn=number))
    (record,) = await store.load(SESSION)
    assert (record.artifact.retention, len(record.versions)) == (endless, 3)


async def test_json_that_is_null_and_text_that_no_database_knows_are_kept(database: Database) -> None:
    store = DatabaseArtifactStore(database, ids=counted())
    await store.write(write(None, tag="nothing"))
    await store.write(write({"odd": "a\x00b\ud800", "number": 1.5}, tag="odd"))
    nothing, odd = await store.load(SESSION)
    assert nothing.versions[-1].content is None
    assert odd.versions[-1].content == {"odd": "a\x00b\ud800", "number": 1.5}


async def test_what_is_in_a_conversation_goes_with_it(database: Database) -> None:
    store = DatabaseArtifactStore(database, ids=counted())
    for number in range(2):
        await store.write(write(f"{number}", number or None, retention=OVERWRITE))
    await store.write(write("there", session=ELSEWHERE))
    async with database.write() as session:
        await session.delete(await session.get_one(Conversation, UUID(SESSION.session_id)))
    assert await store.load(SESSION) == ()
    assert await store.archives(SESSION) == ()
    assert len(await store.load(ELSEWHERE)) == 1
    assert (await store.load(ELSEWHERE))[0].versions[0].created_at == NOW
