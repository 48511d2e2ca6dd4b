"""Refusing what would go over a limit, before anything is sent."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.daily_limits import DailyLimits
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.usage.queries import used_today


class OverLimitError(TavernKitError):
    """A space, or the account that owns it, has used as much as it may."""


async def check_day(session: AsyncSession, owner_id: UUID, limits: DailyLimits, now: datetime) -> None:
    """Raise OverLimitError when an account has used up its day."""
    used = await used_today(session, owner_id, now)
    tokens = used.prompt_tokens + used.completion_tokens
    if 0 < limits.tokens <= tokens:
        sentence = _(
            "The owner of this space has used {used} of {limit} tokens today. Wait until 00:00 UTC, or ask an "
            "administrator to raise the limit.",
            used=tokens,
            limit=limits.tokens,
        )
        raise OverLimitError(sentence)
    if 0 < limits.cost <= used.cost:
        sentence = _(
            "The owner of this space has used {used} of {limit} today. Wait until 00:00 UTC, or ask an administrator "
            "to raise the limit.",
            used=f"${used.cost:.2f}",
            limit=f"${limits.cost:.2f}",
        )
        raise OverLimitError(sentence)
