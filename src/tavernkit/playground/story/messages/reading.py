"""Looking at messages, for those who may."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import MessageSwipe
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, message_for
from tavernkit.playground.story.paths.messages import (
    ShownMessage,
    messages_after,
    messages_before,
    shown_message,
    swipes_of,
)


class MessageWindow(NamedTuple):
    """Some messages, oldest first, and the number to go on from in the same direction."""

    messages: list[ShownMessage]
    next: int | None


class SwipeWindow(NamedTuple):
    """Some swipes, and the position to go on behind."""

    swipes: list[MessageSwipe]
    next: int | None


async def read_messages(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, before: int | None, after: int | None, limit: int
) -> MessageWindow:
    """The newest visible messages below `before`, or the oldest above `after`."""
    if before is not None and after is not None:
        raise Refused(code="invalid", sentence="Ask for what is before a message or after one, not for both.")
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        if after is not None:
            newer = await messages_after(session, conversation_id, after=after, limit=limit + 1)
            return MessageWindow(newer[:limit], newer[limit - 1].message.seq if len(newer) > limit else None)
        older = await messages_before(session, conversation_id, before=before, limit=limit + 1)
        return MessageWindow(older[-limit:], older[-limit].message.seq if len(older) > limit else None)


async def read_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> ShownMessage:
    """One message; hidden ones are not there."""
    async with runtime.database.read() as session:
        found = await message_for(session, message_id, viewer, Access.READ)
        if found[0].visibility == "hidden":
            raise not_found("message")
        return await shown_message(session, message_id)


async def read_swipes(runtime: Runtime, viewer: Viewer, message_id: UUID, *, after: int, limit: int) -> SwipeWindow:
    """The swipes of a message that is not hidden, behind a position."""
    async with runtime.database.read() as session:
        found = await message_for(session, message_id, viewer, Access.READ)
        if found[0].visibility == "hidden":
            raise not_found("message")
        swipes = await swipes_of(session, message_id, after=after, limit=limit + 1)
        return SwipeWindow(swipes[:limit], swipes[limit - 1].position if len(swipes) > limit else None)
