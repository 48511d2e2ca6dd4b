"""The picture of a persona."""

from __future__ import annotations

from uuid import UUID

from anyio import to_thread

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.store import remove_unused, store
from tavernkit.playground.base.database.models import Persona
from tavernkit.playground.base.database.versions import advance
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.pictures import PictureError, read_picture
from tavernkit.playground.story.personas.documents import PersonaOut
from tavernkit.playground.story.personas.queries import persona_for

MAX_PICTURE_BYTES = 16 * 1024 * 1024


async def set_picture(
    runtime: Runtime, viewer: Viewer, persona_id: UUID, data: bytes | None, *, settings_version: int
) -> Persona:
    """Give a persona a picture, which is kept small, or take it away."""
    try:
        picture = None if data is None else (await to_thread.run_sync(read_picture, data)).thumbnail
    except PictureError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        current = PersonaOut.of(row).model_dump(mode="json")
        advance(row, settings_version, what="persona", current=current)
        before = row.avatar_sha256
        if picture is not None:
            await store(session, [picture], runtime.clock())
        row.avatar_sha256 = None if picture is None else picture.sha256
        row.updated_at = runtime.clock()
        await remove_unused(session, [before])
        return row
