"""Personas, sets of quick replies and pipeline profiles go to the trash too; public conversations are listed."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

TABLES = ("personas", "quick_reply_sets", "pipeline_profiles")
NAMED = ("quick_reply_sets", "pipeline_profiles")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("trashed_at", sa.DateTime(timezone=True), nullable=True))
    for table in NAMED:
        with op.batch_alter_table(table) as batch_op:
            batch_op.drop_constraint(batch_op.f(f"uq_{table}_owner_id_name"), type_="unique")
        _index(f"uq_{table}_name", table, ["owner_id", "name"], "trashed_at IS NULL", unique=True)
    for table in TABLES:
        _index(f"ix_{table}_trashed", table, ["trashed_at"], "trashed_at IS NOT NULL")
    _index("ix_conversations_public", "conversations", ["updated_at"], "visibility = 'public'")


def _index(name: str, table: str, columns: list[str], condition: str, *, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
