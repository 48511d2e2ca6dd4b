"""Messages have pictures, spaces a background, and providers say whether they see."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "message_pictures",
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("swipe_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(length=500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("kind IN ('attached', 'kept', 'expression')", name=op.f("ck_message_pictures_kind")),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["users.id"], name=op.f("fk_message_pictures_owner_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["swipe_id"], ["message_swipes.id"], name=op.f("fk_message_pictures_swipe_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name=op.f("fk_message_pictures_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message_pictures")),
    )
    op.create_index(op.f("ix_message_pictures_owner_id"), "message_pictures", ["owner_id"])
    op.create_index(op.f("ix_message_pictures_swipe_id"), "message_pictures", ["swipe_id"])
    op.create_index(op.f("ix_message_pictures_sha256"), "message_pictures", ["sha256"])
    op.create_index(
        "ix_message_pictures_unsent",
        "message_pictures",
        ["created_at"],
        sqlite_where=sa.text("swipe_id IS NULL"),
        postgresql_where=sa.text("swipe_id IS NULL"),
    )
    with op.batch_alter_table("llm_providers") as batch_op:
        batch_op.add_column(sa.Column("sees_pictures", sa.String(length=10), nullable=False, server_default="auto"))
        batch_op.create_check_constraint(
            batch_op.f("ck_llm_providers_sees_pictures"), "sees_pictures IN ('auto', 'yes', 'no')"
        )
    with op.batch_alter_table("spaces") as batch_op:
        batch_op.add_column(sa.Column("background_sha256", sa.String(length=64), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_spaces_background_sha256"), "blobs", ["background_sha256"], ["sha256"]
        )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
