"""Prompts are kept in pieces that those of other turns share, with where each of their characters comes from."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "prompt_pieces",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("links", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_prompt_pieces")),
    )
    op.add_column("prompt_snapshots", sa.Column("root", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
