"""Runs say how much of their prompt was cached, and how much could have been."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("cached_tokens", "common_tokens", "compared_tokens"):
        op.add_column("conversation_runs", sa.Column(name, sa.Integer(), nullable=True))
    is_postgresql = op.get_context().dialect.name == "postgresql"
    known = "CAST(CAST(debug AS json) ->> 'cached_tokens' AS integer)"
    if not is_postgresql:
        known = "json_extract(debug, '$.cached_tokens')"
    op.execute(f"UPDATE conversation_runs SET cached_tokens = {known} WHERE replied_at IS NOT NULL")  # noqa: S608 - our own text


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
