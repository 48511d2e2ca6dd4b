"""What prompts were built from is kept, and on demand what providers sent."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "input_documents",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("has_parts", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_input_documents")),
    )
    for table in ("prompt_inputs", "reply_streams"):
        moment = [sa.Column("created_at", sa.DateTime(timezone=True), nullable=False)]
        op.create_table(
            table,
            sa.Column("run_id", sa.Uuid(), nullable=False),
            sa.Column("content", sa.LargeBinary(), nullable=False),
            *(moment if table == "reply_streams" else []),
            sa.PrimaryKeyConstraint("run_id", name=op.f(f"pk_{table}")),
            sa.ForeignKeyConstraint(
                ["run_id"], ["prompt_snapshots.run_id"], name=op.f(f"fk_{table}_run_id"), ondelete="CASCADE"
            ),
        )
    op.create_index(op.f("ix_reply_streams_created_at"), "reply_streams", ["created_at"])


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
