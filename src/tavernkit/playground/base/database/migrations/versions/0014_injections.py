"""A conversation has texts that go into its prompts."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conversation_injections",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("position", sa.String(length=20), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("scan", sa.Boolean(), nullable=False),
        sa.Column("ephemeral", sa.Boolean(), nullable=False),
        sa.Column("after_seq", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "position IN ('before', 'after', 'chat', 'none')", name=op.f("ck_conversation_injections_position")
        ),
        sa.CheckConstraint("role IN ('system', 'user', 'assistant')", name=op.f("ck_conversation_injections_role")),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_injections_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "name", name=op.f("pk_conversation_injections")),
    )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
