"""Reading profiles, and which of them is chosen where."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.database.models import (
    Conversation,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
    Space,
)
from tavernkit.playground.outcome import Refused, not_found

__all__ = [
    "choice_at",
    "choices_count",
    "followed_profile",
    "is_name_taken",
    "profile_for",
    "profiles_page",
    "version_of",
]


async def profile_for(
    session: AsyncSession, viewer: Viewer, profile_id: UUID, *, lock: bool = False
) -> PipelineProfile | Refused:
    """One of the person's own profiles, or one of everybody's."""
    query = select(PipelineProfile).where(PipelineProfile.id == profile_id, _visible(viewer))
    found: PipelineProfile | None = await session.scalar(query.with_for_update() if lock else query)
    return found or not_found("profile")


async def profiles_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[PipelineProfile]:
    """The profiles that the person can use, by name."""
    query = select(PipelineProfile).where(_visible(viewer))
    if behind is not None:
        query = query.where(tuple_(PipelineProfile.name, PipelineProfile.id) > behind)
    return list(await session.scalars(query.order_by(PipelineProfile.name, PipelineProfile.id).limit(limit)))


async def version_of(session: AsyncSession, profile: PipelineProfile) -> PipelineProfileVersion:
    """What the profile holds now."""
    return await session.get_one(PipelineProfileVersion, (profile.id, profile.settings_version))


async def is_name_taken(session: AsyncSession, owner_id: UUID | None, name: str) -> bool:
    """Whether the owner has a profile of this name."""
    found = await session.scalar(
        select(PipelineProfile.id).where(PipelineProfile.owner_id == owner_id, PipelineProfile.name == name).limit(1)
    )
    return found is not None


async def choices_count(session: AsyncSession, profile_id: UUID) -> int:
    """At how many places the profile is followed."""
    query = select(func.count()).where(PipelineChoice.profile_id == profile_id)
    return (await session.execute(query)).scalar_one()


async def choice_at(session: AsyncSession, place: dict[str, UUID]) -> PipelineChoice | None:
    """What was chosen at a place, if anything was."""
    found: PipelineChoice | None = await session.scalar(select(PipelineChoice).filter_by(**place))
    return found


async def followed_profile(
    session: AsyncSession, conversation_id: UUID, character_id: UUID | None
) -> tuple[PipelineProfile, PipelineProfileVersion] | None:
    """The profile that is followed in a conversation while a character speaks, as it is now: the nearest choice counts,
    also by saying that there is none."""
    row = (
        await session.execute(
            select(Conversation.space_id, Space.owner_id)
            .join(Space, Space.id == Conversation.space_id)
            .where(Conversation.id == conversation_id)
        )
    ).one()
    choices = (
        await session.scalars(
            select(PipelineChoice).where(
                or_(
                    PipelineChoice.conversation_id == conversation_id,
                    PipelineChoice.character_id == character_id,
                    PipelineChoice.space_id == row.space_id,
                    PipelineChoice.user_id == row.owner_id,
                )
            )
        )
    ).all()
    nearest = min(choices, key=_distance, default=None)
    if nearest is None or nearest.profile_id is None:
        return None
    profile = await session.get_one(PipelineProfile, nearest.profile_id)
    return profile, await version_of(session, profile)


def _distance(choice: PipelineChoice) -> int:
    places = (choice.conversation_id, choice.character_id, choice.space_id, choice.user_id)
    return next(distance for distance, place in enumerate(places) if place is not None)


def _visible(viewer: Viewer) -> ColumnElement[bool]:
    return or_(PipelineProfile.owner_id == viewer.user_id, PipelineProfile.owner_id.is_(None))
