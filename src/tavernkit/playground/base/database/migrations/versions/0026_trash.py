"""What is deleted goes to a trash first, with the time when; what was hidden before is in it from now on."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

TABLES = ("characters", "presets", "lorebooks", "spaces", "conversations", "messages")
STATUSES = ("ready", "pending", "failed", "archived", "deleting")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("trashed_at", sa.DateTime(timezone=True), nullable=True))
    for table in ("spaces", "conversations"):
        op.add_column(table, sa.Column("trashed_from", sa.String(20), nullable=True))
    op.add_column("conversations", sa.Column("regrafted", sa.Text(), nullable=True))
    with op.batch_alter_table("conversations") as batch_op:
        batch_op.drop_constraint(batch_op.f("ck_conversations_status"), type_="check")
        batch_op.create_check_constraint(
            batch_op.f("ck_conversations_status"), f"status IN ({', '.join(map(repr, STATUSES))})"
        )
    with op.batch_alter_table("presets") as batch_op:
        batch_op.drop_constraint(batch_op.f("uq_presets_owner_id_kind_name"), type_="unique")
    _index("uq_presets_name", "presets", ["owner_id", "kind", "name"], "trashed_at IS NULL", unique=True)
    for table in TABLES:
        _index(f"ix_{table}_trashed", table, ["trashed_at"], "trashed_at IS NOT NULL")
    messages = sa.table("messages", sa.column("visibility"), sa.column("trashed_at", sa.DateTime(timezone=True)))
    hidden = messages.update().where(messages.c.visibility == "hidden")
    op.execute(hidden.values(trashed_at=datetime.now(UTC)))


def _index(name: str, table: str, columns: list[str], condition: str, *, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
