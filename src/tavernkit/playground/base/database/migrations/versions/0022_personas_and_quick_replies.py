"""Personas have a title and connections; quick replies are kept, and where they are used."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("personas", sa.Column("title", sa.String(length=200), nullable=False, server_default=""))
    op.create_table(
        "persona_connections",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("persona_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("key", sa.String(length=300), nullable=False),
        sa.Column("character_id", sa.Uuid(), nullable=True),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("kind IN ('character', 'conversation', 'other')", name=op.f("ck_persona_connections_kind")),
        *(
            sa.ForeignKeyConstraint([column], [there], name=op.f(f"fk_persona_connections_{column}"), ondelete=ondelete)
            for column, there, ondelete in (
                ("owner_id", "users.id", "CASCADE"),
                ("persona_id", "personas.id", "CASCADE"),
                ("character_id", "characters.id", "SET NULL"),
                ("conversation_id", "conversations.id", "CASCADE"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persona_connections")),
        *(
            sa.UniqueConstraint(first, second, name=op.f(f"uq_persona_connections_{first}_{second}"))
            for first, second in (("persona_id", "character_id"), ("owner_id", "conversation_id"))
        ),
    )
    for column in ("owner_id", "persona_id", "key", "character_id", "conversation_id"):
        op.create_index(op.f(f"ix_persona_connections_{column}"), "persona_connections", [column])
    op.create_table(
        "quick_reply_sets",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["users.id"], name=op.f("fk_quick_reply_sets_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quick_reply_sets")),
        sa.UniqueConstraint("owner_id", "name", name=op.f("uq_quick_reply_sets_owner_id_name")),
    )
    op.create_index(op.f("ix_quick_reply_sets_owner_id"), "quick_reply_sets", ["owner_id"])
    places = (("user_id", "users.id"), ("space_id", "spaces.id"), ("character_id", "characters.id"))
    op.create_table(
        "quick_reply_links",
        sa.Column("set_id", sa.Uuid(), nullable=False),
        *(sa.Column(column, sa.Uuid(), nullable=True) for column, _ in places),
        sa.Column("visible", sa.Boolean(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            " + ".join(f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column, _ in places) + " = 1",
            name=op.f("ck_quick_reply_links_one_place"),
        ),
        *(
            sa.ForeignKeyConstraint([column], [there], name=op.f(f"fk_quick_reply_links_{column}"), ondelete="CASCADE")
            for column, there in (("set_id", "quick_reply_sets.id"), *places)
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quick_reply_links")),
        *(
            sa.UniqueConstraint("set_id", column, name=op.f(f"uq_quick_reply_links_set_id_{column}"))
            for column, _ in places
        ),
    )
    for column, _ in places:
        op.create_index(op.f(f"ix_quick_reply_links_{column}"), "quick_reply_links", [column])


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
