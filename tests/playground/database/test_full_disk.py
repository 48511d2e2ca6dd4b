"""A full disk is said in a sentence, and what was there stays whole."""

import sqlite3
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event, func, select

from tavernkit.playground.base.database.engine import Database
from tavernkit.playground.base.database.errors import StorageFullError
from tavernkit.playground.base.database.models import TextContent
from tests.playground.accounts.installation import Installation, open_installation

pytestmark = pytest.mark.anyio


def fill_up(database: Database, pages: int = 0) -> None:
    """Let the file grow by so many pages and no further."""

    def limit(connection: Any, *_: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA page_count")
        (count,) = cursor.fetchone()
        cursor.execute(f"PRAGMA max_page_count = {count + pages}")
        cursor.close()

    event.listen(database.engine.sync_engine, "checkout", limit)


async def write_until_full(database: Database, written: list[UUID]) -> None:
    """Three texts at a time; those that were stored are written down."""
    while True:
        three = [uuid4() for _ in range(3)]
        async with database.write() as session:
            session.add_all([TextContent(id=id, content="x" * 5000) for id in three])
        written += three


async def test_nothing_is_lost_when_there_is_no_room(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        database = installation.runtime.database
        fill_up(database, pages=4)
        written: list[UUID] = []
        with pytest.raises(StorageFullError, match=r"The disk is full.*nothing was saved"):
            await write_until_full(database, written)
        async with database.read() as session:
            texts = await session.scalar(
                select(func.count()).select_from(TextContent).where(func.length(TextContent.content) == 5000)
            )
        assert texts == len(written)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


async def test_pages_and_programs_are_told_and_can_still_read(sqlite_url: str, tmp_path: Path) -> None:
    async with open_installation(sqlite_url, tmp_path) as installation:
        await seen_by_both(installation)


async def seen_by_both(installation: Installation) -> None:
    browser = installation.browser()
    fill_up(installation.runtime.database)
    place = f"/conversations/{installation.play.conversation_id}"
    sent = await browser.post(f"{place}/messages", data={"content": "x" * 50_000})
    assert sent.status_code == 507
    assert "The disk is full" in sent.text
    answers = [await browser.post("/api/v1/api_keys", json={"name": "k" * 200}) for _ in range(40)]
    full = next(answer for answer in answers if answer.status_code != 201)
    assert (full.status_code, full.json()["error"]["code"]) == (507, "storage_full")
    assert (await browser.get(place)).status_code == 200
    assert (await browser.get("/api/v1/me")).status_code == 200
