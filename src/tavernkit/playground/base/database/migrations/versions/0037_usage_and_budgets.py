"""A ledger of what questions to models have used, budgets, and prices of cached tokens and of single people."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

PRICES = ("cached_price", "cache_write_price")


def upgrade() -> None:
    for name in PRICES:
        op.add_column("model_prices", sa.Column(name, sa.Double(), nullable=True))
    op.create_table(
        "own_model_prices",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("prompt_price", sa.Double(), nullable=False),
        sa.Column("completion_price", sa.Double(), nullable=False),
        *(sa.Column(name, sa.Double(), nullable=True) for name in PRICES),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "model", name=op.f("pk_own_model_prices")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_own_model_prices_user_id"), ondelete="CASCADE"
        ),
    )
    _make_ledger()
    _make_budgets()
    _take_up_runs()


def _make_ledger() -> None:
    op.create_table(
        "usage_entries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("cache_write_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("is_estimated", sa.Boolean(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage_entries")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_usage_entries_owner_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_usage_entries_conversation_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["conversation_runs.id"], name=op.f("fk_usage_entries_run_id"), ondelete="SET NULL"
        ),
        sa.CheckConstraint(
            "kind IN ('reply', 'step', 'suggestion', 'dry_run', 'expression')", name=op.f("ck_usage_entries_kind")
        ),
    )
    op.create_index("ix_usage_entries_owner", "usage_entries", ["owner_id", "created_at"])
    for column in ("conversation_id", "run_id"):
        op.create_index(op.f(f"ix_usage_entries_{column}"), "usage_entries", [column])


def _make_budgets() -> None:
    places = (("conversation_id", "conversations"), ("space_id", "spaces"), ("user_id", "users"))
    filled = " + ".join(f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column, _ in places)
    op.create_table(
        "budgets",
        sa.Column("id", sa.Uuid(), nullable=False),
        *(sa.Column(column, sa.Uuid(), nullable=True) for column, _ in places),
        sa.Column("period", sa.String(10), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("warn_percent", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budgets")),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=op.f(f"fk_budgets_{column}"), ondelete="CASCADE")
            for column, table in places
        ),
        *(sa.UniqueConstraint(column, "period", name=op.f(f"uq_budgets_{column}_period")) for column, _ in places),
        sa.CheckConstraint("period IN ('day', 'month', 'total')", name=op.f("ck_budgets_period")),
        sa.CheckConstraint(f"{filled} = 1", name=op.f("ck_budgets_one_place")),
    )


def _take_up_runs() -> None:
    """Write down what replies and steps have used up to now: it stands with the runs, and in the logs of the steps."""
    is_postgresql = op.get_bind().dialect.name == "postgresql"

    def read(column: str, *path: str, kind: str) -> str:
        if is_postgresql:
            return f"CAST(CAST({column} AS json) #>> '{{{','.join(path)}}}' AS {kind})"
        return f"json_extract({column}, '$.{'.'.join(path)}')"

    columns = (
        "id, owner_id, conversation_id, run_id, kind, name, model, prompt_tokens, completion_tokens, cached_tokens, "
        "cost, is_estimated, is_open, created_at"
    )
    among = "JOIN conversations c ON c.id = r.conversation_id JOIN spaces s ON s.id = c.space_id"
    told = read("r.debug", "prompt_tokens", kind="integer")
    op.execute(
        f"INSERT INTO usage_entries ({columns}) "  # noqa: S608 - our own names
        "SELECT r.id, s.owner_id, r.conversation_id, r.id, 'reply', '', coalesce(r.model, ''), "
        "coalesce(r.prompt_tokens, 0), coalesce(r.completion_tokens, 0), "
        f"{read('r.debug', 'cached_tokens', kind='integer')}, r.cost, {told} IS NULL, false, r.replied_at "
        f"FROM conversation_runs r {among} WHERE r.replied_at IS NOT NULL"
    )
    figures = {
        name: read("p.log", "usage", name, kind=kind)
        for name, kind in (
            ("calls", "integer"), ("prompt_tokens", "integer"), ("completion_tokens", "integer"),
            ("cost", "double precision"),
        )
    }  # fmt: skip
    op.execute(
        f"INSERT INTO usage_entries ({columns}) "  # noqa: S608 - our own names
        "SELECT p.id, s.owner_id, r.conversation_id, r.run_id, 'step', p.step, '', "
        f"coalesce({figures['prompt_tokens']}, 0), coalesce({figures['completion_tokens']}, 0), NULL, "
        f"{figures['cost']}, true, false, p.started_at "
        f"FROM pipeline_step_runs p JOIN pipeline_runs r ON r.id = p.pipeline_run_id {among} "
        f"WHERE {figures['calls']} > 0"
    )


def downgrade() -> None:
    raise NotImplementedError("A database is never taken back to an older version: restore a backup instead.")
