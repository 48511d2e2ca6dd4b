"""The kinds of providers are listed by the application alone, so that a new one needs no other database."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("llm_providers") as batch_op:
        batch_op.drop_constraint(batch_op.f("ck_llm_providers_kind"), type_="check")


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
