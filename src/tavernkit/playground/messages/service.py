"""Saying something."""

from __future__ import annotations

from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.conversations.in_use import not_in_use
from tavernkit.playground.conversations.queries import active_run, speaking_member
from tavernkit.playground.database.models import Conversation, Message, SpaceMembership
from tavernkit.playground.messages.texts import MAX_MESSAGE_CHARACTERS, clean_text
from tavernkit.playground.messages.writing import add_message
from tavernkit.playground.outcome import Refused
from tavernkit.playground.realtime.outbox import append_event
from tavernkit.playground.runs.planner import plan_run
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.spaces.access import Access, conversation_for

__all__ = ["MAX_MESSAGE_CHARACTERS", "SentRole", "send_message"]

SentRole: TypeAlias = Literal["user", "system"]


async def send_message(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    message_id: UUID,
    content: str,
    role: SentRole = "user",
) -> Message | Refused:
    """Store what the person said and queue the reply, in one transaction; narration, of the role `system`, gets none.

    The client makes the id, so that sending again what may or may not have arrived never doubles it.
    """
    text = clean_text(content)
    if isinstance(text, Refused):
        return text
    try:
        async with runtime.database.write() as session:
            found = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
            if isinstance(found, Refused):
                return found
            conversation, entry = found
            known: Message | None = await session.scalar(select(Message).where(Message.id == message_id))
            if known is not None:
                return known if known.conversation_id == conversation_id else _taken()
            author = await _may_speak(session, conversation, entry.member)
            if isinstance(author, Refused):
                return author
            return await _say(session, runtime, conversation, author, message_id, text, role)
    except IntegrityError:
        # The same id was sent into another conversation at the same moment.
        return _taken()


async def _may_speak(
    session: AsyncSession, conversation: Conversation, member: SpaceMembership | None
) -> SpaceMembership | Refused:
    """The membership that speaks."""
    refused = not_in_use(conversation)
    if refused is not None:
        return refused
    if member is None:
        return Refused(code="forbidden", sentence="Only members speak here. Join the space first.")
    if member.copilot_mode == "full":
        return Refused(
            code="copilot_blocked", sentence="The copilot is writing for you. Switch it off to write yourself."
        )
    if await active_run(session, conversation.id) is not None:
        return Refused(
            code="generation_locked", sentence="The reply is still being written. Wait for it, or stop it first."
        )
    return member


async def _say(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    author: SpaceMembership,
    message_id: UUID,
    text: str,
    role: SentRole,
) -> Message:
    now = runtime.clock()
    message = await add_message(
        session,
        runtime.ids,
        id=message_id,
        conversation_id=conversation.id,
        membership_id=author.id,
        role=role,
        content=text,
        now=now,
    )
    await append_event(session, conversation.id, "message", now, message_id=str(message_id))
    speaker = await speaking_member(session, conversation.space_id) if role == "user" else None
    if speaker is not None:
        await plan_run(session, runtime, conversation.id, speaker.id, kind="user_turn", reason="user_message")
    return message


def _taken() -> Refused:
    return Refused(code="taken", sentence="Another message has this id. Send it again under a new one.")
