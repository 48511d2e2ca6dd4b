"""People are invited to spaces by links, and characters, lorebooks and presets are shared."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

NOUNS = {"character_id": "characters", "lorebook_id": "lorebooks", "preset_id": "presets"}


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "space_invitations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("created_by_id", sa.Uuid(), nullable=False),
        sa.Column("code_hash", sa.String(64), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("max_uses", sa.Integer(), nullable=False),
        sa.Column("uses_count", sa.Integer(), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.Column("revoked_at", moment, nullable=True),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_space_invitations")),
        sa.ForeignKeyConstraint(
            ["space_id"], ["spaces.id"], name=op.f("fk_space_invitations_space_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_space_invitations_created_by_id"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("code_hash", name=op.f("uq_space_invitations_code_hash")),
        sa.CheckConstraint("role IN ('moderator', 'member', 'observer')", name=op.f("ck_space_invitations_role")),
    )
    op.create_index(op.f("ix_space_invitations_space_id"), "space_invitations", ["space_id"])
    op.create_table(
        "shares",
        sa.Column("id", sa.Uuid(), nullable=False),
        *(sa.Column(column, sa.Uuid(), nullable=True) for column in NOUNS),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shares")),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=op.f(f"fk_shares_{column}"), ondelete="CASCADE")
            for column, table in {**NOUNS, "space_id": "spaces"}.items()
        ),
        *(sa.UniqueConstraint(column, "space_id", name=op.f(f"uq_shares_{column}_space_id")) for column in NOUNS),
        sa.CheckConstraint(
            " + ".join(f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column in NOUNS) + " = 1",
            name=op.f("ck_shares_one_place"),
        ),
    )
    op.create_index(op.f("ix_shares_space_id"), "shares", ["space_id"])
    for column in NOUNS:
        where = sa.text("space_id IS NULL")
        op.create_index(
            f"uq_shares_{column}_everybody", "shares", [column], unique=True, sqlite_where=where, postgresql_where=where
        )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
