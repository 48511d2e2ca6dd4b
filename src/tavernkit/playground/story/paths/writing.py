"""Putting a message at the end of a conversation, and changing one, inside a transaction that somebody else owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, TextContent
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import Access, message_for, require_in_use
from tavernkit.playground.story.paths.documents import MessageOut
from tavernkit.playground.story.paths.state import message_added, shown_message

MAX_MESSAGE_CHARACTERS = 100_000

REASONING = "reasoning"
"""Where the metadata of a swipe keeps the thoughts that came with it."""


def clean_text(content: str, *, has_pictures: bool = False) -> str:
    """The text without the space around it and without what no database can hold; a blank one is refused, unless
    pictures say something."""
    text = storable(content).strip()
    if not text and not has_pictures:
        raise Refused("blank", _("Enter a message first."))
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise Refused(
            "too_long",
            _(
                "The text has {length} characters; a message has at most {limit}. Shorten it.",
                length=len(text),
                limit=MAX_MESSAGE_CHARACTERS,
            ),
        )
    return text


async def add_message(
    session: AsyncSession,
    ids: Callable[[], UUID],
    *,
    id: UUID,
    conversation_id: UUID,
    membership_id: UUID,
    role: str,
    content: str,
    now: datetime,
    swipe_id: UUID | None = None,
    run_id: UUID | None = None,
    metadata: Mapping[str, Any] | None = None,
    state_delta: Mapping[str, Any] | None = None,
) -> Message:
    """Give the message the next place in the conversation, its text and its first swipe."""
    seq: int | None = await session.scalar(
        update(Conversation)
        .where(Conversation.id == conversation_id)
        .values(last_seq=Conversation.last_seq + 1, messages_count=Conversation.messages_count + 1, updated_at=now)
        .returning(Conversation.last_seq)
    )
    if seq is None:
        raise LookupError(f"no conversation {conversation_id}")
    text = await add_text(session, ids, content)
    message = Message(
        id=id,
        conversation_id=conversation_id,
        membership_id=membership_id,
        seq=seq,
        role=role,
        text=text,
        active_swipe_id=swipe_id or ids(),
        swipes_count=1,
        run_id=run_id,
        created_at=now,
    )
    session.add(message)
    await session.flush()
    session.add(
        MessageSwipe(
            id=message.active_swipe_id,
            message_id=message.id,
            position=0,
            text=text,
            state_delta=None if state_delta is None else dict(state_delta),
            metadata_=dict(metadata or {}),
            run_id=run_id,
            created_at=now,
        )
    )
    await session.flush()
    await message_added(session, conversation_id, seq)
    return message


async def add_text(session: AsyncSession, ids: Callable[[], UUID], content: str) -> TextContent:
    """A text of its own: one that is there may be shared by other swipes and branches, and is never changed."""
    text = TextContent(id=ids(), content=content)
    session.add(text)
    await session.flush()
    return text


async def changeable_message(
    session: AsyncSession, message_id: UUID, viewer: Viewer, needs: Access, *, hidden: bool = False
) -> tuple[Message, Conversation]:
    """The message as it is now; one that is hidden only for who asks for these."""
    message, conversation, _access = await message_for(session, message_id, viewer, needs, lock=True)
    require_in_use(conversation)
    if message.visibility == "hidden" and not hidden:
        raise Refused(
            "conflict",
            _("This message was deleted in the meantime. Restore it to change it."),
            current=await _current(session, message_id),
        )
    return message, conversation


async def refuse_stale(session: AsyncSession, message: Message, revision: int | None) -> None:
    """Refuse a change that was made from another revision; None is from whatever there is."""
    if revision not in (None, message.revision):
        raise stale(_("message"), await _current(session, message.id))


async def note_change(session: AsyncSession, runtime: Runtime, message: Message, kind: str) -> None:
    """Count the change, and announce it to the pages."""
    message.revision += 1
    await session.flush()
    await append_event(session, message.conversation_id, kind, runtime.clock(), message_id=str(message.id))


async def _current(session: AsyncSession, message_id: UUID) -> MessageOut:
    return MessageOut.of(await shown_message(session, message_id))
