"""Accounts have an appearance of their pages, and keys of their own for shortcuts."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("appearance", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("shortcuts", sa.Text(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
