"""Where people are, as far as their clocks are concerned: prompts have their time."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime

LONGEST_ZONE = 64


async def set_time_zone(runtime: Runtime, viewer: Viewer, name: str) -> None:
    """Keep the zone that a person's browser has named."""
    require_person(viewer)
    if _zone(name) is None:
        raise Refused(code="invalid", sentence="There is no such time zone. Name one such as Europe/Berlin.")
    async with runtime.database.write() as session:
        user = await session.get(User, viewer.user_id)
        if user is None:
            raise not_found("account")
        user.time_zone = name
        return


async def time_of(session: AsyncSession, user_id: UUID, now: datetime) -> datetime:
    """The moment by the person's clock. Without a zone of theirs that is the server's, for its only person, or UTC."""
    query = select(User.time_zone, User.password_hash.is_(None)).where(User.id == user_id)
    found = (await session.execute(query)).one_or_none()
    if found is None:
        return now
    name, is_local = found
    zone = None if name is None else _zone(name)
    if zone is not None:
        return now.astimezone(zone)
    return now.astimezone() if is_local else now


def _zone(name: str) -> ZoneInfo | None:
    if not name or len(name) > LONGEST_ZONE:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # An OSError for a folder of zones, such as `Europe`.
        return None
