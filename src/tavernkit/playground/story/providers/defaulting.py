"""There is one default provider, and it can be used."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Provider


async def make_default(session: AsyncSession, provider: Provider) -> None:
    """Let it be the default, enabled, in place of the one before."""
    provider.disabled = False
    await session.flush()
    # Locked in one order, so that two who do this at once wait for each other.
    await session.execute(select(Provider.id).order_by(Provider.id).with_for_update())
    await session.execute(update(Provider).values(is_default=Provider.id == provider.id))
    await session.refresh(provider)
