"""Accounts have a time zone, and runs the limits that who asked for them has set."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("time_zone", sa.String(length=64), nullable=True))
    op.add_column("conversation_runs", sa.Column("limits", sa.Text(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
