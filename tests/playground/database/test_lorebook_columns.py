"""Entries of lorebooks of an earlier version get the columns that lists are filtered by."""

import json
from uuid import uuid4

import pytest
from sqlalchemy import Connection, text

from tavernkit.playground.base.database.migrate import upgrade
from tests.playground.database.first_schema import migrate_to
from tests.playground.database.test_upgrading import inside

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FORMS = {
    0: {"uid": 0, "key": ["Ice", 5], "keysecondary": ["FROST"], "comment": "Straße",
        "content": "Cold\ud83e.", "position": 4},
    1: {"uid": 1, "key": "odd", "content": None, "position": "x"},
}  # fmt: skip


async def test_an_upgrade_fills_the_columns_that_lists_of_entries_use(empty_database_url: str) -> None:
    await migrate_to(empty_database_url, "0017")

    def fill(connection: Connection) -> None:
        user, book, now = uuid4().hex, uuid4().hex, "2024-01-01 00:00:00+00:00"
        connection.execute(
            text("INSERT INTO users (id, name, created_at, role, status) VALUES (:id, 'A', :now, 'member', 'active')"),
            {"id": user, "now": now},
        )
        connection.execute(
            text(
                "INSERT INTO lorebooks (id, owner_id, name, description, data, entries_count, status, settings_version,"
                " created_at, updated_at) VALUES (:id, :owner, 'B', '', '{}', 2, 'ready', 0, :now, :now)"
            ),
            {"id": book, "owner": user, "now": now},
        )
        for uid, form in FORMS.items():
            connection.execute(
                text(
                    "INSERT INTO lorebook_entries (id, lorebook_id, uid, position, comment, enabled, constant, data,"
                    " revision, updated_at) VALUES (:id, :book, :uid, :uid, '', true, false, :data, 1, :now)"
                ),
                {"id": uuid4().hex, "book": book, "uid": uid, "data": json.dumps(form), "now": now},
            )

    await inside(empty_database_url, fill)
    await upgrade(empty_database_url)

    def read(connection: Connection) -> list[tuple[object, ...]]:
        query = "SELECT insertion_position, search_text, tokens FROM lorebook_entries ORDER BY uid"
        return [tuple(row) for row in connection.execute(text(query))]

    assert await inside(empty_database_url, read) == [
        (4, "strasse\nfrost\nice\ncold\ufffd.", None),
        (1, "", None),
    ]
