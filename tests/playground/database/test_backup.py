"""A backup is one moment of everything, and goes into either kind of database."""

import asyncio
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, insert, select
from sqlalchemy.exc import IntegrityError

from tavernkit.errors import UnsupportedVersionError
from tavernkit.playground.base.database.backup import BackupError, back_up, restore
from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.migrate import check, upgrade
from tavernkit.playground.base.database.models import Blob, Conversation, Message, MessageSwipe, TextContent
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.artifacts.stories import LAST_TWO, keep
from tests.playground.database.contents import contents
from tests.playground.database.first_schema import fill_first_schema, migrate_to
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import new_database_url
from tests.playground.support.postgres import PostgresServer

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.fixture
def another_url(database_url: str, tmp_path: Path, postgres_server: PostgresServer) -> str:
    """A database of the other kind without any table."""
    return of_other_kind(database_url, tmp_path, postgres_server)


def of_other_kind(url: str, folder: Path, server: PostgresServer) -> str:
    return new_database_url("sqlite" if url.startswith("postgresql") else "postgresql", folder, server)


async def fill(url: str, folder: Path) -> None:
    """A story, some messages, and values that are hard to keep."""
    async with open_story(url, folder, ScriptedModel()) as play:
        await play.say('Grüße 🦊 \u2028 and \\ "quotes"')
        async with play.runtime.database.write() as session:
            await session.execute(
                insert(Blob).values(sha256="0" * 64, media_type="x/y", size=256, data=bytes(range(256)), created_at=NOW)
            )
        story = Story(play.runtime, play.user_id, play.conversation_id)
        for hour in range(4):
            await keep(story, None, {"hour": hour}, retention=LAST_TWO)


async def test_a_backup_restores_to_the_same_rows_in_either_kind(
    database_url: str, another_url: str, tmp_path: Path
) -> None:
    await fill(database_url, tmp_path)
    file = tmp_path / "backups" / "one.zip"
    manifest = await back_up(database_url, file, NOW)
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in file.parent.iterdir()] == ["one.zip"]
    with file.open("rb") as source:
        assert await restore(another_url, source) == manifest
    before = await contents(database_url)
    assert sum(map(len, before.values())) == manifest.rows > 10
    assert await contents(another_url) == before
    assert (await check(another_url)).is_current
    # And what was restored is a database like any other: foreign keys hold, and it can be used.
    async with open_story(another_url, tmp_path, ScriptedModel()) as play:
        async with play.working():
            await play.until(lambda run: run.status == "succeeded")
            await play.say("Once more.")
        orphan = MessageSwipe(id=uuid4(), message_id=uuid4(), position=0, text_id=uuid4(), created_at=NOW)
        with pytest.raises(IntegrityError, match=r"(?i)foreign key"):
            await add(play, orphan)


async def add(play: Story, row: Base) -> None:
    async with play.runtime.database.write() as session:
        session.add(row)


async def test_a_backup_while_messages_are_written_is_consistent(
    database_url: str, another_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        stop, written = asyncio.Event(), asyncio.Event()

        async def write() -> None:
            """One message after another, each a transaction over several tables."""
            while not stop.is_set():
                async with play.runtime.database.write() as session:
                    conversation = await session.get_one(Conversation, play.conversation_id, with_for_update=True)
                    conversation.last_seq += 1
                    conversation.messages_count += 1
                    first = await session.scalar(select(Message.membership_id).limit(1))
                    id, text_id = uuid4(), uuid4()
                    session.add(TextContent(id=text_id, content=f"Number {conversation.last_seq}"))
                    await session.flush()
                    session.add(
                        Message(
                            id=id,
                            conversation_id=conversation.id,
                            membership_id=first,
                            seq=conversation.last_seq,
                            role="user",
                            text_id=text_id,
                            created_at=NOW,
                        )
                    )
                written.set()

        writers = [asyncio.create_task(write()) for _ in range(2)]
        files = []
        for number in range(3):
            written.clear()
            await written.wait()
            files.append(tmp_path / f"{number}.zip")
            await back_up(database_url, files[-1], NOW)
        stop.set()
        await asyncio.gather(*writers)
    sizes = []
    for file in files:
        with file.open("rb") as source:
            await restore(another_url, source, force=True)
        async with reading(another_url) as connection:
            messages = await connection.scalar(select(func.count()).select_from(Message))
            texts = await connection.scalar(select(func.count()).select_from(TextContent))
            row = (await connection.execute(select(Conversation.last_seq, Conversation.messages_count))).one()
        assert row.last_seq == row.messages_count == messages
        assert texts >= messages
        sizes.append(messages)
    assert sizes == sorted(set(sizes))


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Any]:
    engine = create_engine(url)
    try:
        async with engine.connect() as connection:
            yield connection
    finally:
        await engine.dispose()


async def test_a_database_with_something_in_it_is_replaced_only_by_force(database_url: str, tmp_path: Path) -> None:
    await fill(database_url, tmp_path)
    file = tmp_path / "one.zip"
    await back_up(database_url, file, NOW)
    before = await contents(database_url)
    async with open_story(database_url, tmp_path, ScriptedModel()) as play, play.runtime.database.write() as session:
        session.add(TextContent(id=uuid4(), content="Later."))
    with file.open("rb") as source, pytest.raises(BackupError, match="--force"):
        await restore(database_url, source)
    assert await contents(database_url) != before
    with file.open("rb") as source:
        await restore(database_url, source, force=True)
    assert await contents(database_url) == before


async def test_an_upgraded_but_empty_database_counts_as_empty(
    database_url: str, another_url: str, tmp_path: Path
) -> None:
    await fill(database_url, tmp_path)
    await back_up(database_url, tmp_path / "one.zip", NOW)
    await upgrade(another_url)
    with (tmp_path / "one.zip").open("rb") as source:
        await restore(another_url, source)


def changed(file: Path, **members: bytes | None) -> io.BytesIO:
    """A copy of a backup with other contents, named without folder and ending."""
    copy = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            stem = Path(name).stem
            data = members.get(stem, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return copy


async def test_a_damaged_backup_changes_nothing(database_url: str, tmp_path: Path) -> None:
    await fill(database_url, tmp_path)
    file = tmp_path / "one.zip"
    await back_up(database_url, file, NOW)
    before = await contents(database_url)
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        users = archive.read("tables/users.jsonl")
    short = changed(file, users=b"")
    swapped = changed(file, users=users.replace(b"administrator", b"moderator"))
    missing = changed(file, users=None)
    nonsense = changed(file, users=b"{nonsense\n")
    fewer = {**manifest, "tables": {name: part for name, part in manifest["tables"].items() if name != "users"}}
    other = changed(file, manifest=json.dumps(fewer).encode())
    # All of them are found on the way into the tables, which is taken back in the same way; on each kind in its own.
    damaged = (short, swapped, missing, nonsense, other) if database_url.startswith("sqlite") else (nonsense,)
    for source in damaged:
        with pytest.raises(BackupError):
            await restore(database_url, source, force=True)
        assert await contents(database_url) == before
    cut = io.BytesIO(file.read_bytes()[:-100])
    for source in (io.BytesIO(b""), io.BytesIO(b"PK nonsense"), cut):
        with pytest.raises(BackupError, match="not a backup"):
            await restore(database_url, source, force=True)
    newer = changed(file, manifest=json.dumps({**manifest, "revision": "9999"}).encode())
    with pytest.raises(UnsupportedVersionError, match="newer version"):
        await restore(database_url, newer, force=True)
    assert await contents(database_url) == before


async def test_a_backup_of_an_older_schema_is_brought_up_to_date(
    empty_database_url: str, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    another_url = of_other_kind(empty_database_url, tmp_path, postgres_server)
    await migrate_to(empty_database_url, "0001")
    await fill_first_schema(empty_database_url)
    manifest = await back_up(empty_database_url, tmp_path / "old.zip", NOW)
    assert manifest.revision == "0001"
    with (tmp_path / "old.zip").open("rb") as source:
        await restore(another_url, source)
    await upgrade(empty_database_url)
    restored, upgraded = await contents(another_url), await contents(empty_database_url)
    assert len(restored["messages"]) == 3
    # A message that was hidden is in the trash since the upgrade, which was not at the same moment.
    assert [without_times(row) for row in restored.pop("messages")] == list(
        map(without_times, upgraded.pop("messages"))
    )
    assert restored == upgraded


def without_times(row: str) -> str:
    return re.sub(r"datetime\.datetime\([^)]*\)", "", row)


async def test_nothing_cannot_be_backed_up(empty_database_url: str, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="no database to back up"):
        await back_up(empty_database_url, tmp_path / "one.zip", NOW)
    assert not (tmp_path / "one.zip").exists()


async def test_progress_is_told_for_every_row(sqlite_url: str, tmp_path: Path) -> None:
    await fill(sqlite_url, tmp_path)
    told: list[int] = []

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[], None]]:
        told.append(total)
        yield lambda: told.append(1)

    manifest = await back_up(sqlite_url, tmp_path / "one.zip", NOW, progress=progress)
    assert told[0] == manifest.rows == len(told) - 1
