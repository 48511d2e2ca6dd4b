"""Characters have tags that their owners give them, and lorebooks are used in all stories of a person."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

PLACES = ("space_id", "conversation_id", "character_id", "persona_id", "user_id")


def upgrade() -> None:
    op.add_column("characters", sa.Column("own_tags", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("characters", sa.Column("file", sa.Text(), nullable=False, server_default="{}"))
    with op.batch_alter_table("lorebook_links") as batch_op:
        batch_op.add_column(sa.Column("user_id", sa.Uuid(), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_lorebook_links_user_id"), "users", ["user_id"], ["id"], ondelete="CASCADE"
        )
        batch_op.create_unique_constraint(
            batch_op.f("uq_lorebook_links_lorebook_id_user_id"), ["lorebook_id", "user_id"]
        )
        batch_op.create_index(batch_op.f("ix_lorebook_links_user_id"), ["user_id"])
        batch_op.drop_constraint(batch_op.f("ck_lorebook_links_one_place"), type_="check")
        batch_op.create_check_constraint(
            batch_op.f("ck_lorebook_links_one_place"),
            " + ".join(f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column in PLACES) + " = 1",
        )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
