"""People choose the language of the interface."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("language", sa.String(length=16), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
