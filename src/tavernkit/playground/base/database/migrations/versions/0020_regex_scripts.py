"""People and spaces have regex scripts of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "script_lists",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(CASE WHEN owner_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN space_id IS NULL THEN 0 ELSE 1 END) = 1",
            name=op.f("ck_script_lists_one_place"),
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_script_lists_owner_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["space_id"], ["spaces.id"], name=op.f("fk_script_lists_space_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_script_lists")),
        sa.UniqueConstraint("owner_id", name=op.f("uq_script_lists_owner_id")),
        sa.UniqueConstraint("space_id", name=op.f("uq_script_lists_space_id")),
    )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
