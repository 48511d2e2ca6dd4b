"""Runs go on behind their reply, and pipelines know where what they have read ends."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversation_runs", sa.Column("replied_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("pipeline_runs", sa.Column("until_seq", sa.Integer(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
