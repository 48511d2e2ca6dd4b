"""Prompts are found by their time: the sweep reads those that were written while it worked."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_prompt_snapshots_created_at", "prompt_snapshots", ["created_at"])


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
