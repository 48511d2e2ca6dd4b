"""Entries of lorebooks are filtered by their text and their position, listed in their order, and counted in tokens."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

PIECE = 500


def upgrade() -> None:
    op.add_column("lorebook_entries", sa.Column("insertion_position", sa.Integer(), server_default="0", nullable=False))
    op.add_column("lorebook_entries", sa.Column("search_text", sa.Text(), server_default="", nullable=False))
    op.add_column("lorebook_entries", sa.Column("tokens", sa.Integer(), nullable=True))
    op.create_index("ix_lorebook_entries_lorebook_id_position", "lorebook_entries", ["lorebook_id", "position"])
    entries = sa.table(
        "lorebook_entries",
        sa.column("id", sa.Uuid()),
        sa.column("data", sa.Text()),
        sa.column("insertion_position", sa.Integer()),
        sa.column("search_text", sa.Text()),
    )
    connection, after = op.get_bind(), None
    change = (
        entries.update()
        .where(entries.c.id == sa.bindparam("entry_id"))
        .values(insertion_position=sa.bindparam("place"), search_text=sa.bindparam("text"))
    )
    while True:
        page = sa.select(entries.c.id, entries.c.data).order_by(entries.c.id).limit(PIECE)
        rows = connection.execute(page if after is None else page.where(entries.c.id > after)).all()
        if not rows:
            break
        after = rows[-1].id
        connection.execute(change, [{"entry_id": row.id, **_columns(json.loads(row.data))} for row in rows])


def _columns(data: dict[str, Any]) -> dict[str, Any]:
    place, texts = data.get("position"), [data.get("comment"), data.get("content")]
    for field in ("key", "keysecondary"):
        texts[1:1] = data[field] if isinstance(data.get(field), list) else []
    text = "\n".join(text for text in texts if isinstance(text, str)).casefold()
    return {
        # As the entry is read: one that says nothing stands behind the character.
        "place": place if isinstance(place, int) and 0 <= place < 2**31 else 1,
        "text": "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text),
    }


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
