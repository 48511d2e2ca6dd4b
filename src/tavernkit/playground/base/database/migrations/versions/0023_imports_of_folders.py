"""Imports of whole folders: where files came from, what became of them, and their bytes."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def _owned(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f(f"fk_{table}_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    ]


def _one_of(table: str, column: str, *values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN ({', '.join(map(repr, values))})", name=op.f(f"ck_{table}_{column}"))


def upgrade() -> None:
    op.create_table(
        "import_sources",
        sa.Column("application", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        _one_of("import_sources", "application", "sillytavern", "risuai"),
        *_owned("import_sources"),
    )
    op.create_index(op.f("ix_import_sources_owner_id"), "import_sources", ["owner_id"])
    statuses = ("receiving", "scanning", "scanned", "importing", "paused", "done", "failed", "discarded")
    op.create_table(
        "folder_imports",
        sa.Column("source_id", sa.Uuid(), nullable=True),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("is_uploaded", sa.Boolean(), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("choices", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        _one_of("folder_imports", "status", *statuses),
        sa.ForeignKeyConstraint(
            ["source_id"], ["import_sources.id"], name=op.f("fk_folder_imports_source_id"), ondelete="SET NULL"
        ),
        *_owned("folder_imports"),
    )
    for column in ("owner_id", "source_id"):
        op.create_index(op.f(f"ix_folder_imports_{column}"), "folder_imports", [column])
    op.create_table(
        "import_items",
        sa.Column("import_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("detail", sa.String(length=100), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("choice", sa.String(length=10), nullable=True),
        sa.Column("verdict", sa.String(length=20), nullable=True),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("target_kind", sa.String(length=20), nullable=True),
        sa.Column("target_id", sa.Uuid(), nullable=True),
        _one_of("import_items", "state", "new", "same", "changed", "duplicate", "refused"),
        _one_of(
            "import_items", "verdict", "exact", "converted", "kept", "refused", "duplicate", "unchanged", "skipped"
        ),
        _one_of("import_items", "choice", "skip", "keep", "replace", "both"),
        sa.ForeignKeyConstraint(
            ["import_id"], ["folder_imports.id"], name=op.f("fk_import_items_import_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("import_id", "position", name=op.f("pk_import_items")),
        sa.UniqueConstraint("import_id", "path", name=op.f("uq_import_items_import_id_path")),
    )
    undecided = sa.text("verdict IS NULL")
    op.create_index(
        "ix_import_items_todo",
        "import_items",
        ["import_id", "rank", "position"],
        sqlite_where=undecided,
        postgresql_where=undecided,
    )
    op.create_table(
        "kept_files",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_kept_files")),
    )
    op.create_table(
        "kept_pieces",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("compressed", sa.Boolean(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sha256"], ["kept_files.sha256"], name=op.f("fk_kept_pieces_sha256"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sha256", "position", name=op.f("pk_kept_pieces")),
    )
    op.create_table(
        "imported_files",
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("detail", sa.String(length=100), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("kept_sha256", sa.String(length=64), nullable=True),
        sa.Column("import_id", sa.Uuid(), nullable=True),
        sa.Column("target_kind", sa.String(length=20), nullable=True),
        sa.Column("target_id", sa.Uuid(), nullable=True),
        sa.Column("marker", sa.String(length=200), nullable=False),
        *(
            sa.ForeignKeyConstraint([column], [there], name=op.f(f"fk_imported_files_{column}"), ondelete=ondelete)
            for column, there, ondelete in (
                ("source_id", "import_sources.id", "CASCADE"),
                ("kept_sha256", "kept_files.sha256", None),
                ("import_id", "folder_imports.id", "SET NULL"),
            )
        ),
        sa.PrimaryKeyConstraint("source_id", "path", name=op.f("pk_imported_files")),
    )
    for column in ("sha256", "kept_sha256", "import_id"):
        op.create_index(op.f(f"ix_imported_files_{column}"), "imported_files", [column])
    op.create_index("ix_imported_files_target", "imported_files", ["target_kind", "target_id"])


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
