"""Pipelines and artifacts: profiles, where they are chosen, the journal of their runs, and what they keep in versions."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pipeline_profiles",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=2000), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["users.id"], name=op.f("fk_pipeline_profiles_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipeline_profiles")),
        sa.UniqueConstraint("owner_id", "name", name=op.f("uq_pipeline_profiles_owner_id_name")),
    )
    op.create_index(op.f("ix_pipeline_profiles_owner_id"), "pipeline_profiles", ["owner_id"], unique=False)
    op.create_table(
        "pipeline_profile_versions",
        sa.Column("profile_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["profile_id"],
            ["pipeline_profiles.id"],
            name=op.f("fk_pipeline_profile_versions_profile_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("profile_id", "version", name=op.f("pk_pipeline_profile_versions")),
    )
    op.create_table(
        "artifacts",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("tag", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("max_versions", sa.Integer(), nullable=True),
        sa.Column("latest_version", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_artifacts_conversation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("conversation_id", "tag", name=op.f("pk_artifacts")),
    )
    op.create_table(
        "pipeline_choices",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("character_id", sa.Uuid(), nullable=True),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("profile_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(CASE WHEN conversation_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN character_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN space_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN user_id IS NULL THEN 0 ELSE 1 END) = 1",
            name=op.f("ck_pipeline_choices_one_place"),
        ),
        sa.ForeignKeyConstraint(
            ["character_id"], ["characters.id"], name=op.f("fk_pipeline_choices_character_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_pipeline_choices_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["pipeline_profiles.id"], name=op.f("fk_pipeline_choices_profile_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["space_id"], ["spaces.id"], name=op.f("fk_pipeline_choices_space_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_pipeline_choices_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipeline_choices")),
        sa.UniqueConstraint("character_id", name=op.f("uq_pipeline_choices_character_id")),
        sa.UniqueConstraint("conversation_id", name=op.f("uq_pipeline_choices_conversation_id")),
        sa.UniqueConstraint("space_id", name=op.f("uq_pipeline_choices_space_id")),
        sa.UniqueConstraint("user_id", name=op.f("uq_pipeline_choices_user_id")),
    )
    op.create_index(op.f("ix_pipeline_choices_profile_id"), "pipeline_choices", ["profile_id"], unique=False)
    op.create_table(
        "artifact_archives",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tag", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("step_run_id", sa.Uuid(), nullable=True),
        sa.Column("pruned_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("reason IN ('window', 'turns', 'ttl', 'reset')", name=op.f("ck_artifact_archives_reason")),
        sa.ForeignKeyConstraint(
            ["conversation_id", "tag"],
            ["artifacts.conversation_id", "artifacts.tag"],
            name=op.f("fk_artifact_archives_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "id", name=op.f("pk_artifact_archives")),
    )
    op.create_table(
        "artifact_versions",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("tag", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("content_type", sa.String(length=20), nullable=False),
        sa.Column("based_on_version", sa.Integer(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=True),
        sa.Column("swipe_id", sa.Uuid(), nullable=True),
        sa.Column("pipeline", sa.String(length=200), nullable=True),
        sa.Column("step", sa.String(length=200), nullable=False),
        sa.Column("archive_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "content_type IN ('text', 'json', 'markdown')", name=op.f("ck_artifact_versions_content_type")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id", "archive_id"],
            ["artifact_archives.conversation_id", "artifact_archives.id"],
            name="fk_artifact_versions_archive_id",
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id", "tag"],
            ["artifacts.conversation_id", "artifacts.tag"],
            name=op.f("fk_artifact_versions_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "tag", "version", name=op.f("pk_artifact_versions")),
    )
    op.create_index(
        "ix_artifact_versions_archived", "artifact_versions", ["conversation_id", "archive_id"], unique=False
    )
    op.create_index(
        "ix_artifact_versions_kept",
        "artifact_versions",
        ["conversation_id", "tag", "version"],
        unique=False,
        sqlite_where=sa.text("archive_id IS NULL"),
        postgresql_where=sa.text("archive_id IS NULL"),
    )
    op.create_table(
        "pipeline_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("profile_id", sa.Uuid(), nullable=True),
        sa.Column("profile_version", sa.Integer(), nullable=False),
        sa.Column("trigger", sa.String(length=20), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=True),
        sa.Column("swipe_id", sa.Uuid(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("status IN ('running', 'done', 'aborted', 'error')", name=op.f("ck_pipeline_runs_status")),
        sa.CheckConstraint(
            "\"trigger\" IN ('user_message', 'regenerate', 'manual', 'api')", name=op.f("ck_pipeline_runs_trigger")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_pipeline_runs_conversation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["pipeline_profiles.id"], name=op.f("fk_pipeline_runs_profile_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["conversation_runs.id"], name=op.f("fk_pipeline_runs_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipeline_runs")),
        sa.UniqueConstraint(
            "conversation_id", "idempotency_key", name=op.f("uq_pipeline_runs_conversation_id_idempotency_key")
        ),
    )
    op.create_index(op.f("ix_pipeline_runs_profile_id"), "pipeline_runs", ["profile_id"], unique=False)
    op.create_index(op.f("ix_pipeline_runs_run_id"), "pipeline_runs", ["run_id"], unique=False)
    op.create_index("ix_pipeline_runs_turns", "pipeline_runs", ["conversation_id", "turn"], unique=False)
    op.create_table(
        "pipeline_step_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("pipeline_run_id", sa.Uuid(), nullable=False),
        sa.Column("hook", sa.String(length=20), nullable=False),
        sa.Column("pipeline", sa.String(length=200), nullable=False),
        sa.Column("step", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('done', 'skipped', 'aborted', 'error')", name=op.f("ck_pipeline_step_runs_status")
        ),
        sa.ForeignKeyConstraint(
            ["pipeline_run_id"],
            ["pipeline_runs.id"],
            name=op.f("fk_pipeline_step_runs_pipeline_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipeline_step_runs")),
        sa.UniqueConstraint(
            "pipeline_run_id",
            "hook",
            "pipeline",
            "step",
            name=op.f("uq_pipeline_step_runs_pipeline_run_id_hook_pipeline_step"),
        ),
    )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
