"""What a person does with profiles. An edit adds a version, so that what a run has followed is never lost."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import PipelineProfile, PipelineProfileVersion
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.pipelines.documents import NewProfile, PatchProfile, ProfileOut
from tavernkit.playground.story.pipelines.owners import require_free_tags
from tavernkit.playground.story.pipelines.queries import choices_count, is_name_taken, profile_for, version_of
from tavernkit.playground.story.pipelines.reading import checked_content, readable_part
from tavernkit.values import JsonObject

NAMELESS = "Profile"
LONGEST_DESCRIPTION = 2000


async def create_profile(
    runtime: Runtime, viewer: Viewer, new: NewProfile
) -> tuple[PipelineProfile, PipelineProfileVersion]:
    """A profile of one's own, in its first version."""
    name = titled(new.name, NAMELESS)
    content = await checked_content(new.content)
    async with runtime.database.write() as session:
        if await is_name_taken(session, viewer.user_id, name):
            raise _taken(name)
        return await add_profile(session, runtime, viewer, name, new.description, content)


async def add_profile(
    session: AsyncSession, runtime: Runtime, viewer: Viewer, name: str, description: str, content: JsonObject
) -> tuple[PipelineProfile, PipelineProfileVersion]:
    """Write a profile of the person's own, with a name that is free and a content that was checked."""
    now = runtime.clock()
    profile = PipelineProfile(
        id=runtime.ids(),
        owner_id=viewer.user_id,
        name=name,
        description=storable(description)[:LONGEST_DESCRIPTION],
        settings_version=1,
        created_at=now,
        updated_at=now,
    )
    session.add(profile)
    await session.flush()
    return profile, add_version(session, profile, content, now)


def add_version(
    session: AsyncSession, profile: PipelineProfile, content: JsonObject, now: datetime
) -> PipelineProfileVersion:
    """Keep what a profile has become, under the number that it has by now."""
    version = PipelineProfileVersion(
        profile_id=profile.id, version=profile.settings_version, content=dict(content), created_at=now
    )
    session.add(version)
    return version


async def edit_profile(
    runtime: Runtime, viewer: Viewer, profile_id: UUID, patch: PatchProfile
) -> tuple[PipelineProfile, PipelineProfileVersion]:
    """Rename a profile, describe it, give it other pipelines: its next version."""
    now = runtime.clock()
    content = None if patch.content is None else await checked_content(patch.content)
    async with runtime.database.write() as session:
        profile = await _to_change(session, viewer, profile_id)
        before = await version_of(session, profile)
        name = profile.name if patch.name is None else titled(patch.name, NAMELESS)
        if name != profile.name and await is_name_taken(session, profile.owner_id, name):
            raise _taken(name)
        if content is not None:
            await require_free_tags(session, profile, readable_part(profile, content))
        current = ProfileOut.with_content(profile, before).model_dump(mode="json")
        advance(profile, patch.settings_version, what="profile", current=current)
        profile.name, profile.updated_at = name, now
        if patch.description is not None:
            profile.description = storable(patch.description)
        return profile, add_version(session, profile, before.content if content is None else content, now)


async def delete_profile(runtime: Runtime, viewer: Viewer, profile_id: UUID) -> None:
    """Delete a profile that is followed nowhere, with its versions; what it has made in conversations stays."""
    async with runtime.database.write() as session:
        profile = await _to_change(session, viewer, profile_id)
        places = await choices_count(session, profile.id)
        if places:
            where = "at one place" if places == 1 else f"at {places} places"
            raise Refused(code="conflict", sentence=f"The profile is followed {where}. Choose another one there first.")
        await session.execute(delete(PipelineProfile).where(PipelineProfile.id == profile.id))


async def _to_change(session: AsyncSession, viewer: Viewer, profile_id: UUID) -> PipelineProfile:
    profile = await profile_for(session, viewer, profile_id, lock=True)
    if profile.owner_id is None and not viewer.is_administrator:
        raise Refused(code="forbidden", sentence="This profile is everybody's; only administrators change it.")
    return profile


def _taken(name: str) -> Refused:
    return Refused(code="taken", sentence=f"There is a profile with the name “{name}”. Choose another name.")
