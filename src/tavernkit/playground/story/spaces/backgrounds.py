"""The picture behind the chats of a space: uploaded, or one of its characters' own."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anyio import to_thread
from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.pictures import PictureError, read_upload
from tavernkit.playground.base.blobs.store import remove_unused, store
from tavernkit.playground.base.database.models import Blob, CharacterAsset, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, append_space_event, space_for

BACKGROUND = "background"
"""The kind of the assets that are to be shown behind a chat."""
MOST_OFFERED = 50


async def offered_backgrounds(session: AsyncSession, space_id: UUID) -> Sequence[CharacterAsset]:
    """The backgrounds that the characters of a space bring with them."""
    return (await session.scalars(_offered(space_id).order_by(CharacterAsset.name).limit(MOST_OFFERED))).all()


def _offered(space_id: UUID) -> Select[CharacterAsset]:
    return (
        select(CharacterAsset)
        .join(SpaceMembership, SpaceMembership.character_id == CharacterAsset.character_id)
        .join(Blob, Blob.sha256 == CharacterAsset.sha256)
        .where(
            SpaceMembership.space_id == space_id,
            SpaceMembership.status == "active",
            CharacterAsset.kind == BACKGROUND,
            Blob.media_type.startswith("image/"),
        )
    )


async def upload_background(runtime: Runtime, viewer: Viewer, space_id: UUID, data: bytes) -> Space:
    """Show a picture behind the chats."""
    try:
        picture = await to_thread.run_sync(read_upload, data)
    except PictureError as error:
        raise Refused("invalid", sentence_of(error)) from None
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        await store(session, [picture.blob], runtime.clock())
        return await _show(session, runtime, access.space, picture.blob.sha256)


async def choose_background(runtime: Runtime, viewer: Viewer, space_id: UUID, sha256: str | None) -> Space:
    """Show a background of one of the characters behind the chats; or none."""
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        if sha256 is not None:
            own = _offered(space_id).where(CharacterAsset.sha256 == sha256)
            if await session.scalar(own.limit(1)) is None:
                raise not_found(_("background"))
        return await _show(session, runtime, access.space, sha256)


async def _show(session: AsyncSession, runtime: Runtime, space: Space, sha256: str | None) -> Space:
    before, now = space.background_sha256, runtime.clock()
    if before != sha256:
        space.background_sha256, space.updated_at = sha256, now
        await remove_unused(session, [before])
        await append_space_event(session, space.id, "space", now)
    return space
