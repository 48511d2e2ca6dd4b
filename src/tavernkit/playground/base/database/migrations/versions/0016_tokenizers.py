"""A provider may have a tokenizer of its own, with which prompts for it are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("llm_providers") as batch_op:
        batch_op.add_column(sa.Column("tokenizer_sha256", sa.String(length=64), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_llm_providers_tokenizer_sha256"), "blobs", ["tokenizer_sha256"], ["sha256"]
        )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
