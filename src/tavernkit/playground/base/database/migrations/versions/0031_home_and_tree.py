"""People pin and tag stories and see what is unread; branches without a title are named after where they leave."""

import json
import re

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^From message ([\d,]+)(?:: “(.*)”)?$",
        r"^(?:От|С) сообщения ([\d\s]+)(?:: «(.*)»)?$",
        r"^[自从]第 ([\d,]+) 条消息(?:：“(.*)”|开始)$",
    )
)
"""The titles that branches were given before, in the languages of the interface."""


def upgrade() -> None:
    op.add_column("conversations", sa.Column("left_at", sa.Text(), nullable=True))
    op.create_index("ix_conversations_space_recent", "conversations", ["space_id", "updated_at"])
    op.drop_index(op.f("ix_conversations_space_id"), table_name="conversations")
    op.create_table(
        "story_pins",
        *_of_a_person("story_pins", "space"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "space_id", name=op.f("pk_story_pins")),
    )
    op.create_table(
        "story_tags",
        *_of_a_person("story_tags", "space"),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "space_id", "key", name=op.f("pk_story_tags")),
    )
    op.create_table(
        "read_positions",
        *_of_a_person("read_positions", "conversation"),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "conversation_id", name=op.f("pk_read_positions")),
    )
    for table, column in (
        ("story_pins", "space_id"), ("story_tags", "space_id"), ("read_positions", "conversation_id"),
    ):  # fmt: skip
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
    op.execute(
        "INSERT INTO read_positions (user_id, conversation_id, seq) "
        "SELECT m.user_id, c.id, c.last_seq FROM space_memberships m JOIN conversations c ON c.space_id = m.space_id "
        "WHERE m.user_id IS NOT NULL AND m.status = 'active'"
    )
    _take_up_names()


def _of_a_person(table: str, noun: str) -> tuple[sa.Column[object] | sa.ForeignKeyConstraint, ...]:
    return (
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column(f"{noun}_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            [f"{noun}_id"], [f"{noun}s.id"], name=op.f(f"fk_{table}_{noun}_id"), ondelete="CASCADE"
        ),
    )


def _take_up_names() -> None:
    """Let the branches that were named after where they leave have no title of their own."""
    rows = sa.table(
        "conversations", sa.column("id", sa.Uuid()), sa.column("kind"), sa.column("title"), sa.column("left_at")
    )
    connection = op.get_bind()
    for id, title in connection.execute(sa.select(rows.c.id, rows.c.title).where(rows.c.kind != "root")).all():
        found = next(filter(None, (name.match(title) for name in NAMES)), None)
        if found is not None:
            left_at = {"number": int(re.sub(r"\D", "", found[1])), "words": found[2] or ""}
            connection.execute(rows.update().where(rows.c.id == id).values(left_at=json.dumps(left_at)))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
