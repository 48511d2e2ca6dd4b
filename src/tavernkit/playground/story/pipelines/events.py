"""Announcing that another profile is followed."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import SpaceMembership
from tavernkit.playground.base.realtime.bus import owner_topic, space_topic
from tavernkit.playground.story.pipelines.documents import ProfilePlace


async def announce_choice(session: AsyncSession, user_id: UUID, place: ProfilePlace, mark: str) -> None:
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
