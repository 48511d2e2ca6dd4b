"""Tries to sign in are counted here, for all servers, and browsers that have signed in before are known."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "known_browsers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_known_browsers_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_known_browsers")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_known_browsers_token_hash")),
    )
    op.create_index(op.f("ix_known_browsers_user_id"), "known_browsers", ["user_id"], unique=False)
    op.create_table(
        "sign_in_tries",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sign_in_tries")),
    )
    op.create_index(op.f("ix_sign_in_tries_ends_at"), "sign_in_tries", ["ends_at"], unique=False)


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
