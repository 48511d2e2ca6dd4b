"""Modules of RisuAI are kept beside presets."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("presets") as batch_op:
        batch_op.drop_constraint(batch_op.f("ck_presets_kind"), type_="check")
        batch_op.create_check_constraint(
            batch_op.f("ck_presets_kind"),
            "kind IN ('chat', 'text', 'instruct', 'context', 'system_prompt', 'reasoning', 'master', 'risuai',"
            " 'module')",
        )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
