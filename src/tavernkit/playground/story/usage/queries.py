"""What replies have used, added up by user, model, character or day. It counts for the owner of the space."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, desc, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    ModelPrice,
    Run,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.story.usage.prices import cost_of_run
from tavernkit.values import Value

UsageBy: TypeAlias = Literal["user", "model", "character", "day"]
MOST_LINES = 400
"""So many lines are shown, those with the most tokens; of days, the newest."""


class UsageLine(Value, frozen=True, kw_only=True):
    """What was used under one heading. `cost` is what is known of it in dollars; `unpriced` replies have none."""

    name: str
    replies: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    unpriced: int
    id: UUID | None = None


def day_start(now: datetime) -> datetime:
    """When the day began, in UTC."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


async def usage(session: AsyncSession, viewer: Viewer, now: datetime, *, by: UsageBy, days: int) -> list[UsageLine]:
    """What was used within the last days, today included."""
    require_administrator(viewer)
    name, *ids = _heading(session, by)
    # By its label: PostgreSQL does not see that two expressions with parameters are the same.
    query = _used(since=day_start(now) - timedelta(days=days - 1)).add_columns(name.label("heading"), *ids)
    tokens = func.sum(func.coalesce(Run.prompt_tokens, 0) + func.coalesce(Run.completion_tokens, 0))
    order = desc("heading") if by == "day" else tokens.desc()
    rows = await session.execute(query.group_by("heading", *ids).order_by(order, "heading").limit(MOST_LINES))
    return [_line(row, name=row[5] or "", id=row[6] if ids else None) for row in rows]


async def used_today(session: AsyncSession, owner_id: UUID, now: datetime) -> UsageLine:
    """What the spaces of one account have used since midnight in UTC."""
    return _line((await session.execute(_used(since=day_start(now)).where(Space.owner_id == owner_id))).one())


def _line(row: Sequence[Any], *, name: str = "", id: UUID | None = None) -> UsageLine:
    replies, prompt_tokens, completion_tokens, cost, unpriced = row[:5]
    return UsageLine(
        name=name,
        id=id,
        replies=replies,
        prompt_tokens=int(prompt_tokens),
        completion_tokens=int(completion_tokens),
        cost=float(cost),
        unpriced=int(unpriced),
    )


def _used(*, since: datetime) -> Select[Any]:
    cost = cost_of_run()
    return (
        select(
            func.count(),
            func.coalesce(func.sum(Run.prompt_tokens), 0),
            func.coalesce(func.sum(Run.completion_tokens), 0),
            func.coalesce(func.sum(cost), 0.0),
            func.coalesce(func.sum(case((cost.is_(None), 1), else_=0)), 0),
        )
        .select_from(Run)
        .join(Conversation, Conversation.id == Run.conversation_id)
        .join(Space, Space.id == Conversation.space_id)
        .outerjoin(ModelPrice, ModelPrice.model == Run.model)
        .join(User, User.id == Space.owner_id)
        .outerjoin(SpaceMembership, SpaceMembership.id == Run.speaker_membership_id)
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .where(Run.replied_at >= since)
    )


def _heading(session: AsyncSession, by: UsageBy) -> tuple[ColumnElement[Any], ...]:
    """The name that lines are added up by, and the id of whose it is."""
    match by:
        case "user":
            return User.name.expression, User.id.expression
        case "character":
            return Character.name.expression, Character.id.expression
        case "model":
            return (func.coalesce(Run.model, ""),)
        case "day":
            is_postgresql = session.get_bind().dialect.name == "postgresql"
            moment = func.timezone("UTC", Run.replied_at)
            return (func.to_char(moment, "YYYY-MM-DD") if is_postgresql else func.date(Run.replied_at),)
