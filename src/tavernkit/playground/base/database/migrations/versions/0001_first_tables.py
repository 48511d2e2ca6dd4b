"""The first tables: people, spaces, members, characters, conversations, messages, runs, providers, events."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "llm_providers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("base_url", sa.String(length=2000), nullable=False),
        sa.Column("api_key", sa.LargeBinary(), nullable=True),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("context_tokens", sa.Integer(), nullable=False),
        sa.Column("response_tokens", sa.Integer(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('openai', 'embedded')", name=op.f("ck_llm_providers_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_llm_providers")),
        sa.UniqueConstraint("name", name=op.f("uq_llm_providers_name")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('member', 'moderator', 'administrator')", name=op.f("ck_users_role")),
        sa.CheckConstraint("status IN ('active', 'inactive')", name=op.f("ck_users_status")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
    )
    op.create_table(
        "characters",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("nickname", sa.String(length=200), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("spec_version", sa.Integer(), nullable=False),
        sa.Column("file_sha256", sa.String(length=64), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('pending', 'ready', 'failed', 'deleting')", name=op.f("ck_characters_status")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_characters_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_characters")),
    )
    op.create_index(op.f("ix_characters_file_sha256"), "characters", ["file_sha256"], unique=False)
    op.create_index(op.f("ix_characters_owner_id"), "characters", ["owner_id"], unique=False)

    op.create_table(
        "spaces",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("prompt_settings", sa.Text(), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('playground', 'discussion')", name=op.f("ck_spaces_kind")),
        sa.CheckConstraint("status IN ('active', 'archived', 'deleting')", name=op.f("ck_spaces_status")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_spaces_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spaces")),
    )
    op.create_index(op.f("ix_spaces_owner_id"), "spaces", ["owner_id"], unique=False)

    op.create_table(
        "conversations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("visibility", sa.String(length=20), nullable=False),
        sa.Column("parent_conversation_id", sa.Uuid(), nullable=True),
        sa.Column("root_conversation_id", sa.Uuid(), nullable=True),
        sa.Column("forked_from_message_id", sa.Uuid(), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_event", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('root', 'branch', 'thread', 'checkpoint')", name=op.f("ck_conversations_kind")),
        sa.CheckConstraint("visibility IN ('shared', 'private', 'public')", name=op.f("ck_conversations_visibility")),
        sa.ForeignKeyConstraint(
            ["parent_conversation_id"], ["conversations.id"], name=op.f("fk_conversations_parent_conversation_id")
        ),
        sa.ForeignKeyConstraint(
            ["root_conversation_id"], ["conversations.id"], name=op.f("fk_conversations_root_conversation_id")
        ),
        sa.ForeignKeyConstraint(
            ["space_id"], ["spaces.id"], name=op.f("fk_conversations_space_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
    )
    op.create_index("ix_conversations_recent", "conversations", ["updated_at"], unique=False)
    op.create_index(op.f("ix_conversations_space_id"), "conversations", ["space_id"], unique=False)

    op.create_table(
        "space_memberships",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("character_id", sa.Uuid(), nullable=True),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("participation", sa.String(length=20), nullable=False),
        sa.Column("cached_display_name", sa.String(length=200), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=True),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("settings_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(kind = 'human' AND user_id IS NOT NULL) OR (kind = 'character' AND user_id IS NULL AND (character_id IS NOT NULL OR status = 'removed'))",
            name=op.f("ck_space_memberships_identity"),
        ),
        sa.CheckConstraint("kind IN ('human', 'character')", name=op.f("ck_space_memberships_kind")),
        sa.CheckConstraint(
            "participation IN ('active', 'muted', 'observer')", name=op.f("ck_space_memberships_participation")
        ),
        sa.CheckConstraint("role IN ('owner', 'member', 'moderator')", name=op.f("ck_space_memberships_role")),
        sa.CheckConstraint("status IN ('active', 'removed')", name=op.f("ck_space_memberships_status")),
        sa.ForeignKeyConstraint(["character_id"], ["characters.id"], name=op.f("fk_space_memberships_character_id")),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["llm_providers.id"], name=op.f("fk_space_memberships_provider_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["space_id"], ["spaces.id"], name=op.f("fk_space_memberships_space_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_space_memberships_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_space_memberships")),
    )
    op.create_index(
        "uq_space_memberships_character",
        "space_memberships",
        ["space_id", "character_id"],
        unique=True,
        sqlite_where=sa.text("character_id IS NOT NULL"),
        postgresql_where=sa.text("character_id IS NOT NULL"),
    )
    op.create_index(
        "uq_space_memberships_user",
        "space_memberships",
        ["space_id", "user_id"],
        unique=True,
        sqlite_where=sa.text("user_id IS NOT NULL"),
        postgresql_where=sa.text("user_id IS NOT NULL"),
    )

    op.create_table(
        "conversation_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=100), nullable=False),
        sa.Column("speaker_membership_id", sa.Uuid(), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("dismissed", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("debug", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('user_turn', 'auto_mode', 'regenerate', 'force_talk', 'copilot', 'continue', 'impersonate')",
            name=op.f("ck_conversation_runs_kind"),
        ),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'canceled', 'skipped')",
            name=op.f("ck_conversation_runs_status"),
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_runs_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["speaker_membership_id"], ["space_memberships.id"], name=op.f("fk_conversation_runs_speaker_membership_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation_runs")),
    )
    op.create_index(
        op.f("ix_conversation_runs_conversation_id"), "conversation_runs", ["conversation_id"], unique=False
    )
    op.create_index("ix_conversation_runs_due", "conversation_runs", ["status", "run_after"], unique=False)
    op.create_index(
        "uq_conversation_runs_queued",
        "conversation_runs",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("status = 'queued'"),
        postgresql_where=sa.text("status = 'queued'"),
    )
    op.create_index(
        "uq_conversation_runs_running",
        "conversation_runs",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )

    op.create_table(
        "outbox_events",
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=50), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_outbox_events_conversation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("conversation_id", "seq", name=op.f("pk_outbox_events")),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("membership_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("visibility", sa.String(length=20), nullable=False),
        sa.Column("active_swipe_id", sa.Uuid(), nullable=True),
        sa.Column("swipes_count", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("origin_message_id", sa.Uuid(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('user', 'assistant', 'system')", name=op.f("ck_messages_role")),
        sa.CheckConstraint("visibility IN ('normal', 'excluded', 'hidden')", name=op.f("ck_messages_visibility")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_messages_conversation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["membership_id"], ["space_memberships.id"], name=op.f("fk_messages_membership_id")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["conversation_runs.id"], name=op.f("fk_messages_run_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("conversation_id", "seq", name=op.f("uq_messages_conversation_id_seq")),
    )
    op.create_table(
        "message_swipes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_message_swipes_message_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["conversation_runs.id"], name=op.f("fk_message_swipes_run_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message_swipes")),
        sa.UniqueConstraint("message_id", "position", name=op.f("uq_message_swipes_message_id_position")),
    )


def downgrade() -> None:
    op.drop_table("message_swipes")
    op.drop_table("messages")
    op.drop_table("outbox_events")

    op.drop_table("conversation_runs")

    op.drop_table("space_memberships")

    op.drop_table("conversations")

    op.drop_table("spaces")

    op.drop_table("characters")
    op.drop_table("users")
    op.drop_table("llm_providers")
