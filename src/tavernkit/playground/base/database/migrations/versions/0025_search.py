"""Everything that people write can be searched."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

from tavernkit.playground.base.database.fulltext.analysis import scope_of

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

NOUNS = {
    "text_id": "text_contents",
    "space_id": "spaces",
    "conversation_id": "conversations",
    "character_id": "characters",
    "lorebook_id": "lorebooks",
    "lorebook_entry_id": "lorebook_entries",
    "preset_id": "presets",
    "persona_id": "personas",
}


def upgrade() -> None:
    op.add_column("spaces", sa.Column("search_scope", sa.String(10), nullable=False, server_default=""))
    spaces = sa.table(
        "spaces",
        sa.column("id", sa.Uuid()),
        sa.column("kind"),
        sa.column("owner_id", sa.Uuid()),
        sa.column("search_scope"),
    )
    connection = op.get_bind()
    for id, kind, owner_id in connection.execute(sa.select(spaces.c.id, spaces.c.kind, spaces.c.owner_id)).all():
        scope = scope_of(id if kind == "discussion" else owner_id)
        connection.execute(spaces.update().where(spaces.c.id == id).values(search_scope=scope))
    is_postgresql = connection.dialect.name == "postgresql"
    filled = " + ".join(f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column in NOUNS)
    op.create_table(
        "search_documents",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *(sa.Column(column, sa.Uuid(), nullable=True) for column in NOUNS),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("tokens", TSVECTOR() if is_postgresql else sa.Text(), nullable=False),
        sa.CheckConstraint(f"{filled} = 1", name=op.f("ck_search_documents_one_place")),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{table}.id"], name=op.f(f"fk_search_documents_{column}"), ondelete="CASCADE"
            )
            for column, table in NOUNS.items()
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_documents")),
    )
    for column in NOUNS:
        there = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            op.f(f"uq_search_documents_{column}"),
            "search_documents",
            [column],
            unique=True,
            sqlite_where=there,
            postgresql_where=there,
        )
    if is_postgresql:
        op.create_index(op.f("ix_search_documents_tokens"), "search_documents", ["tokens"], postgresql_using="gin")
    else:
        # Each token is preceded by a blank, and then by the part of the index that it belongs to.
        op.execute(
            "CREATE VIRTUAL TABLE search_index USING fts5(tokens, content='', columnsize=0, detail=none, tokenize='ascii')"
        )
        op.execute(
            "CREATE TRIGGER search_documents_added AFTER INSERT ON search_documents BEGIN INSERT INTO search_index"
            " (rowid, tokens) VALUES (new.id, replace(new.tokens, ' ', ' ' || new.scope)); END"
        )
        op.execute(
            "CREATE TRIGGER search_documents_removed AFTER DELETE ON search_documents BEGIN INSERT INTO search_index"
            " (search_index, rowid, tokens) VALUES ('delete', old.id, replace(old.tokens, ' ', ' ' || old.scope)); END"
        )
    # What is there already is indexed by the next worker.
    settings = sa.table("site_settings", sa.column("key"), sa.column("value"), sa.column("updated_at"))
    pending = sa.select(
        sa.literal("search_rebuild"),
        sa.literal('{"model": 0, "after": "%s"}' % ("0" * 32)),
        sa.func.current_timestamp(),
    )
    people = sa.table("users", sa.column("id"))
    op.execute(
        settings.insert().from_select(["key", "value", "updated_at"], pending.where(sa.exists(sa.select(people.c.id))))
    )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
