"""A message that is about to be changed: locked with its conversation, and checked."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, message_for, require_in_use
from tavernkit.playground.story.paths.documents import MessageOut
from tavernkit.playground.story.paths.messages import shown_message


async def changeable_message(
    session: AsyncSession, message_id: UUID, viewer: Viewer, needs: Access, *, hidden: bool = False
) -> tuple[Message, Conversation]:
    """The message as it is now; one that is hidden only for who asks for these."""
    message, conversation, _ = await message_for(session, message_id, viewer, needs, lock=True)
    require_in_use(conversation)
    if message.visibility == "hidden" and not hidden:
        raise Refused(
            code="conflict",
            sentence="This message was deleted in the meantime. Bring it back to change it.",
            current=await _current(session, message_id),
        )
    return message, conversation


async def refuse_stale(session: AsyncSession, message: Message, revision: int | None) -> None:
    """Refuse a change that was made from another revision; None is from whatever there is."""
    if revision not in (None, message.revision):
        raise stale("message", await _current(session, message.id))


async def note_change(session: AsyncSession, runtime: Runtime, message: Message, kind: str) -> None:
    """Count the change, and announce it to the pages."""
    message.revision += 1
    await session.flush()
    await append_event(session, message.conversation_id, kind, runtime.clock(), message_id=str(message.id))


async def _current(session: AsyncSession, message_id: UUID) -> object:
    return MessageOut.of(await shown_message(session, message_id)).model_dump(mode="json")
