"""Prices of models, daily limits of accounts, codes to reset passwords; runs say which model has answered."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "model_prices",
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("prompt_price", sa.Double(), nullable=False),
        sa.Column("completion_price", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("model", name=op.f("pk_model_prices")),
    )
    op.create_table(
        "password_resets",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("code_hash", sa.String(64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_password_resets_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_password_resets")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_password_resets_code_hash")),
    )
    op.add_column("users", sa.Column("daily_tokens", sa.BigInteger(), nullable=True))
    op.add_column("users", sa.Column("daily_cost", sa.Double(), nullable=True))
    op.add_column("conversation_runs", sa.Column("model", sa.String(200), nullable=True))
    is_postgresql = op.get_context().dialect.name == "postgresql"
    model = "substr(CAST(debug AS json) ->> 'model', 1, 200)" if is_postgresql else "json_extract(debug, '$.model')"
    op.execute(f"UPDATE conversation_runs SET model = {model} WHERE replied_at IS NOT NULL")  # noqa: S608 - our own text
    op.create_index(
        "ix_conversation_runs_replied",
        "conversation_runs",
        ["replied_at"],
        sqlite_where=sa.text("replied_at IS NOT NULL"),
        postgresql_where=sa.text("replied_at IS NOT NULL"),
    )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
