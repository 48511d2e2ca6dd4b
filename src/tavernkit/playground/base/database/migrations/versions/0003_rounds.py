"""Runs know their turn in a round, and are found quickly in conversations that have had many.

What is shown of a queue is versioned by the conversation's events; it needs no number of its own.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversation_runs", sa.Column("round_position", sa.Integer(), nullable=True))
    op.drop_index("ix_conversation_runs_conversation_id", table_name="conversation_runs")
    op.create_index("ix_conversation_runs_recent", "conversation_runs", ["conversation_id", "created_at"])
    op.create_index(
        "ix_conversation_runs_undecided",
        "conversation_runs",
        ["conversation_id"],
        sqlite_where=sa.text("dismissed = 0"),
        postgresql_where=sa.text("NOT dismissed"),
    )
    op.add_column("space_memberships", sa.Column("copilot_conversation_id", sa.Uuid(), nullable=True))
    op.drop_column("conversations", "group_queue_revision")


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
