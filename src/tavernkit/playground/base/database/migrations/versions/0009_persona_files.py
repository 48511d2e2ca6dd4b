"""Personas keep what a backup says about them that has no place here."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("personas", sa.Column("file", sa.Text(), nullable=False, server_default=sa.text("'{}'")))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
