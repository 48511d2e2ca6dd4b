"""Everything the application knows: accounts, personas, presets, lorebooks, versions, jobs, rounds, paths, prompts.

Texts of messages move into a table of their own, so that branches can share them.
"""

import json
import unicodedata
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blobs",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_blobs")),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("created_by_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("note", sa.String(length=500), nullable=False),
        sa.Column("max_uses", sa.Integer(), nullable=False),
        sa.Column("uses_count", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('member', 'moderator', 'administrator')", name=op.f("ck_invitations_role")),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_invitations_created_by_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_invitations_code_hash")),
    )
    op.create_table(
        "prompt_blocks",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_prompt_blocks")),
    )
    op.create_table(
        "site_settings",
        sa.Column("key", sa.String(length=100), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_site_settings")),
    )
    op.create_table(
        "text_contents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_text_contents")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("prefix", sa.String(length=20), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_keys_token_hash")),
    )
    op.create_index(op.f("ix_api_keys_user_id"), "api_keys", ["user_id"], unique=False)

    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.String(length=50), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'canceled')", name=op.f("ck_jobs_status")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_jobs_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_due", "jobs", ["status", "run_after"], unique=False)
    op.create_index(op.f("ix_jobs_owner_id"), "jobs", ["owner_id"], unique=False)

    op.create_table(
        "job_files",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_files_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "position", name=op.f("pk_job_files")),
    )

    op.create_table(
        "lorebooks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("entries_count", sa.Integer(), nullable=False),
        sa.Column("file_sha256", sa.String(length=64), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('ready', 'deleting')", name=op.f("ck_lorebooks_status")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_lorebooks_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lorebooks")),
    )
    op.create_index(op.f("ix_lorebooks_file_sha256"), "lorebooks", ["file_sha256"], unique=False)
    op.create_index(op.f("ix_lorebooks_owner_id"), "lorebooks", ["owner_id"], unique=False)

    op.create_table(
        "personas",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("position", sa.String(length=20), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("avatar_sha256", sa.String(length=64), nullable=True),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "position IN ('in_prompt', 'top_of_note', 'bottom_of_note', 'at_depth', 'none')",
            name=op.f("ck_personas_position"),
        ),
        sa.CheckConstraint("role IN ('system', 'user', 'assistant')", name=op.f("ck_personas_role")),
        sa.ForeignKeyConstraint(["avatar_sha256"], ["blobs.sha256"], name=op.f("fk_personas_avatar_sha256")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_personas_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_personas")),
    )
    op.create_index(op.f("ix_personas_owner_id"), "personas", ["owner_id"], unique=False)

    op.create_table(
        "presets",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=2000), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('chat', 'text', 'instruct', 'context', 'system_prompt', 'reasoning', 'master')",
            name=op.f("ck_presets_kind"),
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_presets_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_presets")),
        sa.UniqueConstraint("owner_id", "kind", "name", name=op.f("uq_presets_owner_id_kind_name")),
    )
    op.create_index(op.f("ix_presets_owner_id"), "presets", ["owner_id"], unique=False)

    op.create_table(
        "user_sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=100), nullable=False),
        sa.Column("agent", sa.String(length=500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_active_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_user_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_user_sessions_token_hash")),
    )
    op.create_index(op.f("ix_user_sessions_user_id"), "user_sessions", ["user_id"], unique=False)

    op.create_table(
        "character_assets",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("character_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=50), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("ext", sa.String(length=20), nullable=False),
        sa.Column("uri", sa.String(length=2000), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["character_id"], ["characters.id"], name=op.f("fk_character_assets_character_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name=op.f("fk_character_assets_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_character_assets")),
        sa.UniqueConstraint("character_id", "kind", "name", name=op.f("uq_character_assets_character_id_kind_name")),
    )
    op.create_table(
        "character_versions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("character_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("file_sha256", sa.String(length=64), nullable=True),
        sa.Column("reason", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["character_id"], ["characters.id"], name=op.f("fk_character_versions_character_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_character_versions")),
        sa.UniqueConstraint("character_id", "number", name=op.f("uq_character_versions_character_id_number")),
    )
    op.create_table(
        "lorebook_entries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("lorebook_id", sa.Uuid(), nullable=False),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("constant", sa.Boolean(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["lorebook_id"], ["lorebooks.id"], name=op.f("fk_lorebook_entries_lorebook_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lorebook_entries")),
        sa.UniqueConstraint("lorebook_id", "uid", name=op.f("uq_lorebook_entries_lorebook_id_uid")),
    )
    op.create_table(
        "conversation_rounds",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("scheduling_state", sa.String(length=20), nullable=True),
        sa.Column("current_position", sa.Integer(), nullable=False),
        sa.Column("trigger_message_id", sa.Uuid(), nullable=True),
        sa.Column("ended_reason", sa.String(length=100), nullable=True),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'active') = (scheduling_state IS NOT NULL) AND (scheduling_state IS NULL OR scheduling_state IN ('ai_generating', 'paused', 'failed'))",
            name=op.f("ck_conversation_rounds_scheduling_state"),
        ),
        sa.CheckConstraint(
            "status IN ('active', 'finished', 'superseded', 'canceled')", name=op.f("ck_conversation_rounds_status")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_rounds_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["trigger_message_id"],
            ["messages.id"],
            name=op.f("fk_conversation_rounds_trigger_message_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation_rounds")),
    )
    op.create_index(
        op.f("ix_conversation_rounds_conversation_id"), "conversation_rounds", ["conversation_id"], unique=False
    )
    op.create_index(
        "uq_conversation_rounds_active",
        "conversation_rounds",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("status = 'active'"),
        postgresql_where=sa.text("status = 'active'"),
    )

    op.create_table(
        "lorebook_links",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("lorebook_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("character_id", sa.Uuid(), nullable=True),
        sa.Column("persona_id", sa.Uuid(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(CASE WHEN space_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN conversation_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN character_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN persona_id IS NULL THEN 0 ELSE 1 END) = 1",
            name=op.f("ck_lorebook_links_one_place"),
        ),
        sa.ForeignKeyConstraint(
            ["character_id"], ["characters.id"], name=op.f("fk_lorebook_links_character_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_lorebook_links_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["lorebook_id"], ["lorebooks.id"], name=op.f("fk_lorebook_links_lorebook_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["persona_id"], ["personas.id"], name=op.f("fk_lorebook_links_persona_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["space_id"], ["spaces.id"], name=op.f("fk_lorebook_links_space_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lorebook_links")),
        sa.UniqueConstraint("lorebook_id", "character_id", name=op.f("uq_lorebook_links_lorebook_id_character_id")),
        sa.UniqueConstraint(
            "lorebook_id", "conversation_id", name=op.f("uq_lorebook_links_lorebook_id_conversation_id")
        ),
        sa.UniqueConstraint("lorebook_id", "persona_id", name=op.f("uq_lorebook_links_lorebook_id_persona_id")),
        sa.UniqueConstraint("lorebook_id", "space_id", name=op.f("uq_lorebook_links_lorebook_id_space_id")),
    )
    op.create_index(op.f("ix_lorebook_links_character_id"), "lorebook_links", ["character_id"], unique=False)
    op.create_index(op.f("ix_lorebook_links_conversation_id"), "lorebook_links", ["conversation_id"], unique=False)
    op.create_index(op.f("ix_lorebook_links_persona_id"), "lorebook_links", ["persona_id"], unique=False)
    op.create_index(op.f("ix_lorebook_links_space_id"), "lorebook_links", ["space_id"], unique=False)

    op.create_table(
        "path_snapshots",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_path_snapshots_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "seq", name=op.f("pk_path_snapshots")),
    )
    op.create_table(
        "conversation_round_slots",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("round_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("membership_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("skip_reason", sa.String(length=100), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'spoken', 'skipped')", name=op.f("ck_conversation_round_slots_status")
        ),
        sa.ForeignKeyConstraint(
            ["membership_id"], ["space_memberships.id"], name=op.f("fk_conversation_round_slots_membership_id")
        ),
        sa.ForeignKeyConstraint(
            ["round_id"],
            ["conversation_rounds.id"],
            name=op.f("fk_conversation_round_slots_round_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation_round_slots")),
        sa.UniqueConstraint("round_id", "position", name=op.f("uq_conversation_round_slots_round_id_position")),
    )
    op.create_table(
        "prompt_snapshots",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("blocks", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["conversation_runs.id"], name=op.f("fk_prompt_snapshots_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_prompt_snapshots")),
    )

    with op.batch_alter_table("characters") as batch_op:
        batch_op.add_column(sa.Column("personality", sa.Text(), nullable=False, server_default=sa.text("''")))
        batch_op.add_column(sa.Column("supported_languages", sa.Text(), nullable=False, server_default=sa.text("'[]'")))
        batch_op.add_column(sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")))
        batch_op.add_column(sa.Column("avatar_sha256", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("thumbnail_sha256", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
        # Before the card, so that SQLite need not read through it to come to them.
        place: dict[str, Any] = {"insert_after": "nickname"} if op.get_bind().dialect.name == "sqlite" else {}
        batch_op.add_column(sa.Column("search_text", sa.Text(), nullable=False, server_default=sa.text("''")), **place)
        batch_op.add_column(
            sa.Column("name_key", sa.String(length=200), nullable=False, server_default=sa.text("''")), **place
        )
        batch_op.create_index("ix_characters_list", ["owner_id", "status", "name_key", "id"], unique=False)
        batch_op.create_index("ix_characters_recent", ["owner_id", "status", "updated_at", "id"], unique=False)
        batch_op.create_index("ix_characters_created", ["owner_id", "status", "created_at", "id"], unique=False)
        batch_op.create_foreign_key(batch_op.f("fk_characters_avatar_sha256"), "blobs", ["avatar_sha256"], ["sha256"])
        batch_op.create_foreign_key(
            batch_op.f("fk_characters_thumbnail_sha256"), "blobs", ["thumbnail_sha256"], ["sha256"]
        )
        batch_op.drop_constraint(batch_op.f("ck_characters_status"), type_="check")
        batch_op.create_check_constraint(
            batch_op.f("ck_characters_status"), "status IN ('pending', 'ready', 'failed', 'deleting', 'deleted')"
        )
    with op.batch_alter_table("conversation_runs") as batch_op:
        batch_op.add_column(sa.Column("round_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("target_message_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("prompt_tokens", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("completion_tokens", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("cost", sa.Double(), nullable=True))
        batch_op.create_index(batch_op.f("ix_conversation_runs_round_id"), ["round_id"], unique=False)
        batch_op.create_foreign_key(
            batch_op.f("fk_conversation_runs_round_id"),
            "conversation_rounds",
            ["round_id"],
            ["id"],
            ondelete="SET NULL",
        )
    with op.batch_alter_table("conversations") as batch_op:
        batch_op.add_column(
            sa.Column("status", sa.String(length=20), nullable=False, server_default=sa.text("'ready'"))
        )
        batch_op.add_column(sa.Column("settings", sa.Text(), nullable=False, server_default=sa.text("'{}'")))
        batch_op.add_column(sa.Column("settings_version", sa.Integer(), nullable=False, server_default=sa.text("0")))
        batch_op.add_column(sa.Column("auto_mode_remaining_rounds", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("turns_count", sa.Integer(), nullable=False, server_default=sa.text("0")))
        batch_op.add_column(
            sa.Column("group_queue_revision", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.add_column(sa.Column("messages_count", sa.Integer(), nullable=False, server_default=sa.text("0")))
        batch_op.add_column(
            sa.Column("prompt_tokens_total", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.add_column(
            sa.Column("completion_tokens_total", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.create_index(
            batch_op.f("ix_conversations_forked_from_message_id"), ["forked_from_message_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_conversations_parent_conversation_id"), ["parent_conversation_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_conversations_root_conversation_id"), ["root_conversation_id"], unique=False
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_conversations_status"), "status IN ('ready', 'pending', 'failed', 'archived')"
        )
    with op.batch_alter_table("llm_providers") as batch_op:
        batch_op.add_column(sa.Column("streamable", sa.Boolean(), nullable=False, server_default=sa.text("TRUE")))
        batch_op.add_column(sa.Column("last_tested_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("settings_version", sa.Integer(), nullable=False, server_default=sa.text("0")))
        batch_op.drop_constraint(batch_op.f("ck_llm_providers_kind"), type_="check")
        batch_op.create_check_constraint(
            batch_op.f("ck_llm_providers_kind"), "kind IN ('openai', 'openai_text', 'anthropic', 'google', 'embedded')"
        )
    with op.batch_alter_table("message_swipes") as batch_op:
        batch_op.add_column(sa.Column("text_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("state_delta", sa.Text(), nullable=True))
    with op.batch_alter_table("messages") as batch_op:
        batch_op.add_column(sa.Column("text_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("hidden_from", sa.String(length=20), nullable=True))
    _move_texts()
    with op.batch_alter_table("message_swipes") as batch_op:
        batch_op.alter_column("text_id", existing_type=sa.Uuid(), nullable=False)
        batch_op.create_index(batch_op.f("ix_message_swipes_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_message_swipes_text_id"), ["text_id"], unique=False)
        batch_op.create_foreign_key(batch_op.f("fk_message_swipes_text_id"), "text_contents", ["text_id"], ["id"])
        batch_op.drop_column("content")
    with op.batch_alter_table("messages") as batch_op:
        batch_op.alter_column("text_id", existing_type=sa.Uuid(), nullable=False)
        batch_op.create_index(batch_op.f("ix_messages_membership_id"), ["membership_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_messages_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_messages_text_id"), ["text_id"], unique=False)
        batch_op.create_foreign_key(batch_op.f("fk_messages_text_id"), "text_contents", ["text_id"], ["id"])
        batch_op.drop_column("content")
    with op.batch_alter_table("space_memberships") as batch_op:
        batch_op.add_column(sa.Column("name_override", sa.String(length=200), nullable=True))
        batch_op.add_column(sa.Column("persona_id", sa.Uuid(), nullable=True))
        batch_op.add_column(
            sa.Column("copilot_mode", sa.String(length=20), nullable=False, server_default=sa.text("'none'"))
        )
        batch_op.add_column(
            sa.Column("copilot_remaining_steps", sa.Integer(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.add_column(sa.Column("talkativeness", sa.Double(), nullable=True))
        batch_op.add_column(sa.Column("preset_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("unread_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("removed_by_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("removed_reason", sa.String(length=500), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_space_memberships_preset_id"), "presets", ["preset_id"], ["id"], ondelete="SET NULL"
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_space_memberships_removed_by_id"), "users", ["removed_by_id"], ["id"], ondelete="SET NULL"
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_space_memberships_persona_id"), "personas", ["persona_id"], ["id"], ondelete="SET NULL"
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_space_memberships_copilot_mode"), "copilot_mode IN ('none', 'full')"
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_space_memberships_copilot_remaining_steps"), "copilot_remaining_steps BETWEEN 0 AND 10"
        )
    with op.batch_alter_table("spaces") as batch_op:
        batch_op.add_column(
            sa.Column("reply_order", sa.String(length=20), nullable=False, server_default=sa.text("'natural'"))
        )
        batch_op.add_column(
            sa.Column("card_handling_mode", sa.String(length=20), nullable=False, server_default=sa.text("'swap'"))
        )
        batch_op.add_column(
            sa.Column("allow_self_responses", sa.Boolean(), nullable=False, server_default=sa.text("FALSE"))
        )
        batch_op.add_column(
            sa.Column("auto_mode_enabled", sa.Boolean(), nullable=False, server_default=sa.text("FALSE"))
        )
        batch_op.add_column(
            sa.Column("auto_mode_delay_ms", sa.Integer(), nullable=False, server_default=sa.text("5000"))
        )
        batch_op.add_column(
            sa.Column(
                "during_generation_user_input_policy",
                sa.String(length=20),
                nullable=False,
                server_default=sa.text("'reject'"),
            )
        )
        batch_op.add_column(
            sa.Column("user_turn_debounce_ms", sa.Integer(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.add_column(
            sa.Column(
                "group_regenerate_mode",
                sa.String(length=20),
                nullable=False,
                server_default=sa.text("'single_message'"),
            )
        )
        batch_op.add_column(
            sa.Column("relax_message_trim", sa.Boolean(), nullable=False, server_default=sa.text("FALSE"))
        )
        batch_op.add_column(sa.Column("provider_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("preset_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("token_limit", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
        batch_op.add_column(
            sa.Column("prompt_tokens_total", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.add_column(
            sa.Column("completion_tokens_total", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_spaces_preset_id"), "presets", ["preset_id"], ["id"], ondelete="SET NULL"
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_spaces_provider_id"), "llm_providers", ["provider_id"], ["id"], ondelete="SET NULL"
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_spaces_reply_order"), "reply_order IN ('manual', 'natural', 'list', 'pooled')"
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_spaces_card_handling_mode"), "card_handling_mode IN ('swap', 'append', 'append_disabled')"
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_spaces_during_generation_user_input_policy"),
            "during_generation_user_input_policy IN ('reject', 'queue', 'restart')",
        )
        batch_op.create_check_constraint(
            batch_op.f("ck_spaces_group_regenerate_mode"), "group_regenerate_mode IN ('single_message', 'last_turn')"
        )
    with op.batch_alter_table("users") as batch_op:
        batch_op.add_column(sa.Column("email", sa.String(length=320), nullable=True))
        batch_op.add_column(sa.Column("password_hash", sa.String(length=500), nullable=True))
        batch_op.add_column(sa.Column("invitation_id", sa.Uuid(), nullable=True))
        batch_op.add_column(
            sa.Column("prompt_tokens_total", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.add_column(
            sa.Column("completion_tokens_total", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
        )
        batch_op.create_index(
            "uq_users_email",
            ["email"],
            unique=True,
            sqlite_where=sa.text("email IS NOT NULL"),
            postgresql_where=sa.text("email IS NOT NULL"),
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_users_invitation_id"), "invitations", ["invitation_id"], ["id"], ondelete="SET NULL"
        )
    _count_messages()
    _make_characters_searchable()


def _move_texts() -> None:
    """A swipe's text keeps the swipe's id; a message shares the text of its active swipe."""
    op.execute("INSERT INTO text_contents (id, content) SELECT id, content FROM message_swipes")
    op.execute("UPDATE message_swipes SET text_id = id")
    op.execute("UPDATE messages SET text_id = (SELECT id FROM message_swipes WHERE id = messages.active_swipe_id)")
    op.execute("INSERT INTO text_contents (id, content) SELECT id, content FROM messages WHERE text_id IS NULL")
    op.execute("UPDATE messages SET text_id = id WHERE text_id IS NULL")


def _count_messages() -> None:
    op.execute(
        "UPDATE conversations SET messages_count = (SELECT COUNT(*) FROM messages"
        " WHERE messages.conversation_id = conversations.id AND messages.visibility <> 'hidden')"
    )


def _make_characters_searchable() -> None:
    characters = sa.table(
        "characters",
        *(sa.column(name) for name in ("id", "name", "nickname", "tags", "data", "name_key", "search_text")),
    )
    for row in op.get_bind().execute(sa.select(characters)).all():
        card = json.loads(row.data)
        creator = card["data"].get("creator", "") if isinstance(card.get("data"), dict) else ""
        lines = [_fold(text) for text in (row.name, row.nickname or "", str(creator))]
        lines += [f"#{_fold(str(tag))}" for tag in json.loads(row.tags)]
        op.execute(
            sa.update(characters)
            .where(characters.c.id == row.id)
            .values(name_key=lines[0][:200], search_text="".join(f"{line}\n" for line in lines)[:4000])
        )


def _fold(text: str) -> str:
    plain = text.replace("\x00", "").encode(errors="replace").decode()
    return " ".join(unicodedata.normalize("NFKC", plain).casefold().split())


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
