"""A search looks only at what is in the spaces of the person who searches."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = sa.text("user_id IS NOT NULL")
    op.create_index(
        op.f("ix_space_memberships_user_id"),
        "space_memberships",
        ["user_id"],
        sqlite_where=there,
        postgresql_where=there,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.create_index(op.f("ix_search_documents_scope"), "search_documents", ["scope", "id"])


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
