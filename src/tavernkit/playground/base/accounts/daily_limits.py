"""How much an account may use in a day: tokens and cost, for the whole site and for single accounts."""

from __future__ import annotations

from math import isfinite
from uuid import UUID

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import SiteSetting, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

LIMITS = "daily_limits"
MOST_TOKENS, HIGHEST_COST = 10**12, 1_000_000.0


class DailyLimits(Value, frozen=True, kw_only=True):
    """What one account may use in a day; 0 is no limit."""

    tokens: int = 0
    cost: float = 0.0


async def site_limits(session: AsyncSession) -> DailyLimits:
    """The limits of accounts that have none of their own."""
    row = await session.get(SiteSetting, LIMITS)
    return DailyLimits() if row is None else msgspec.convert(row.value["value"], DailyLimits)


async def limits_of(session: AsyncSession, user_id: UUID) -> DailyLimits:
    """What counts for one account."""
    user, site = await session.get_one(User, user_id), await site_limits(session)
    return DailyLimits(
        tokens=site.tokens if user.daily_tokens is None else user.daily_tokens,
        cost=site.cost if user.daily_cost is None else user.daily_cost,
    )


async def change_site_limits(runtime: Runtime, viewer: Viewer, limits: DailyLimits) -> DailyLimits:
    """Limit accounts that have no limits of their own."""
    require_administrator(viewer)
    _check(limits.tokens, limits.cost)
    value = {"value": msgspec.to_builtins(limits)}
    async with runtime.database.write() as session:
        await session.merge(SiteSetting(key=LIMITS, value=value, updated_at=runtime.clock()))
    return limits


async def change_user_limits(
    runtime: Runtime, viewer: Viewer, user_id: UUID, *, tokens: int | None, cost: float | None
) -> User:
    """Limit one account; None is the limit of the site."""
    require_administrator(viewer)
    _check(tokens, cost)
    async with runtime.database.write() as session:
        user = existing(await session.get(User, user_id, with_for_update=True), _("account"))
        user.daily_tokens, user.daily_cost = tokens, cost
        return user


def _check(tokens: int | None, cost: float | None) -> None:
    if not 0 <= (tokens or 0) <= MOST_TOKENS or not isfinite(cost or 0) or not 0 <= (cost or 0) <= HIGHEST_COST:
        raise Refused("invalid", _("A limit is a number that is not negative; 0 is no limit."))
