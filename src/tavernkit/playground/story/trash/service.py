"""What people do with their trash: looking into it, restoring, deleting for good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Lorebook, PipelineProfile, Preset, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import space_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.service import return_character
from tavernkit.playground.story.conversations.service import return_conversation
from tavernkit.playground.story.lorebooks.links import append_book_event
from tavernkit.playground.story.messages.service import restore_message
from tavernkit.playground.story.personas.service import return_persona
from tavernkit.playground.story.pipelines.queries import free_name as free_profile_name
from tavernkit.playground.story.presets.queries import free_name
from tavernkit.playground.story.quick_replies.service import return_set
from tavernkit.playground.story.retention import EXPIRED, read_retention, request_purge
from tavernkit.playground.story.trash.queries import (
    TABLES,
    TrashedItem,
    TrashKind,
    belongs_to,
    is_in_trash,
    is_listed,
    trash_page,
)

NAMES: Mapping[TrashKind, str] = {
    "space": _("space"),
    "conversation": _("conversation"),
    "message": _("message"),
    "character": _("character"),
    "lorebook": _("lorebook"),
    "preset": _("preset"),
    "persona": _("persona"),
    "quick_reply_set": _("set of quick replies"),
    "pipeline_profile": _("profile"),
}


async def read_trash(
    runtime: Runtime,
    viewer: Viewer,
    *,
    kind: TrashKind | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> list[TrashedItem]:
    """What is in a person's trash, what was deleted last first."""
    async with runtime.database.read() as session:
        retention = await read_retention(session)
        return await trash_page(session, viewer, retention, kind=kind, after=after, limit=limit)


async def restore(runtime: Runtime, viewer: Viewer, kind: TrashKind, id: UUID) -> None:
    """Bring something back to where it was."""
    if kind == "message":
        async with runtime.database.read() as session:
            await _found(session, viewer, kind, id)
        await restore_message(runtime, viewer, id)
        return
    async with runtime.database.write() as session:
        row = await _found(session, viewer, kind, id, lock=True)
        await _RETURNS[kind](session, runtime, row)


async def delete_for_good(runtime: Runtime, viewer: Viewer, kind: TrashKind, id: UUID) -> None:
    """Let nobody restore something any more; a job removes it."""
    async with runtime.database.write() as session:
        row = await _found(session, viewer, kind, id, lock=True)
        row.trashed_at = EXPIRED
        await request_purge(session, runtime, viewer)


async def empty_trash(runtime: Runtime, viewer: Viewer) -> int:
    """Let nobody restore anything that is in the person's trash; a job removes it. How much that was."""
    count = 0
    async with runtime.database.write() as session:
        for kind, row in TABLES.items():
            gone = await session.scalars(
                update(row).where(is_listed(kind, viewer)).values(trashed_at=EXPIRED).returning(row.id),
                execution_options={"synchronize_session": False},
            )
            count += len(gone.all())
        if count:
            await request_purge(session, runtime, viewer)
    return count


async def _found(session: AsyncSession, viewer: Viewer, kind: TrashKind, id: UUID, *, lock: bool = False) -> Any:
    """What is to be restored or removed, if it is in this person's trash or in one that they look after."""
    row = TABLES[kind]
    if kind == "conversation" and lock:
        # The space before its conversations, as everybody locks them.
        of_conversation = select(Conversation.space_id).where(Conversation.id == id).scalar_subquery()
        await session.execute(select(Space.id).where(Space.id == of_conversation).with_for_update(key_share=True))
    query = select(row).where(row.id == id, is_in_trash(row), belongs_to(kind, viewer))
    found = await session.scalar(query.with_for_update(of=row) if lock else query)
    if found is None:
        raise not_found(NAMES[kind])
    return found


async def _return_space(session: AsyncSession, runtime: Runtime, row: Space) -> None:
    row.status, row.trashed_from, row.trashed_at = row.trashed_from or "active", None, None
    row.settings_version += 1
    row.updated_at = runtime.clock()
    announce_access_change(session, space_topic(row.id))


async def _return_conversation(session: AsyncSession, runtime: Runtime, row: Conversation) -> None:
    space = await session.get_one(Space, row.space_id)
    if space.status == "archived":
        raise Refused("conflict", _("The space “{name}” is archived. Restore it first.", name=space.name))
    await return_conversation(session, runtime, row)


async def _return_lorebook(session: AsyncSession, runtime: Runtime, row: Lorebook) -> None:
    row.status, row.trashed_at = "ready", None
    await append_book_event(session, row.id, runtime.clock())


async def _return_preset(session: AsyncSession, runtime: Runtime, row: Preset) -> None:
    """Under its name, or a free one like it where another one has the name by now."""
    row.name = await free_name(session, row.owner_id, row.kind, row.name)
    row.trashed_at, row.updated_at = None, runtime.clock()


async def _return_profile(session: AsyncSession, runtime: Runtime, row: PipelineProfile) -> None:
    row.name = await free_profile_name(session, row.owner_id, row.name)
    row.trashed_at, row.updated_at = None, runtime.clock()


_RETURNS: Mapping[TrashKind, Callable[[AsyncSession, Runtime, Any], Awaitable[None]]] = {
    "space": _return_space,
    "conversation": _return_conversation,
    "character": return_character,
    "lorebook": _return_lorebook,
    "preset": _return_preset,
    "persona": return_persona,
    "quick_reply_set": return_set,
    "pipeline_profile": _return_profile,
}
