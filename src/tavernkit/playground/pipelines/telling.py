"""Telling open pages what is followed around their conversations.

A space, and even more a person, may have thousands of conversations, of which a handful are open. So nothing is written
into each: it is said once where the pages listen, and a page that has missed it looks again when it is back.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database import announce
from tavernkit.playground.database.models import SpaceMembership
from tavernkit.playground.pipelines.schemas import Place
from tavernkit.playground.realtime.bus import owner_topic, space_topic

__all__ = ["tell_around"]


async def tell_around(session: AsyncSession, user_id: UUID, place: Place, mark: str) -> None:
    """Say, once this is committed, what was chosen in a space, with a character, or in everything of a person's."""
    if place.space_id is not None:
        announce(session, space_topic(place.space_id), place="space", chosen=mark)
    elif place.character_id is not None:
        for space_id in await _spaces_with(session, place.character_id):
            announce(session, space_topic(space_id), place=f"character_{place.character_id}", chosen=mark)
    else:
        announce(session, owner_topic(user_id), place="everywhere", chosen=mark)


async def _spaces_with(session: AsyncSession, character_id: UUID) -> list[UUID]:
    found = await session.scalars(
        select(SpaceMembership.space_id)
        .where(SpaceMembership.character_id == character_id, SpaceMembership.status == "active")
        .distinct()
    )
    return list(found)
