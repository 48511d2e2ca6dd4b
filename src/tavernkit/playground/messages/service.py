"""Saying something."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.conversations.queries import active_run, find_conversation, human_member, speaking_member
from tavernkit.playground.database.models import Message
from tavernkit.playground.messages.writing import add_message
from tavernkit.playground.outcome import Refused
from tavernkit.playground.realtime.outbox import append_event
from tavernkit.playground.runs.planner import plan_run
from tavernkit.playground.runtime import Runtime

__all__ = ["MAX_MESSAGE_CHARACTERS", "send_message"]

MAX_MESSAGE_CHARACTERS = 100_000


async def send_message(
    runtime: Runtime, conversation_id: UUID, user_id: UUID, *, message_id: UUID, content: str
) -> Message | Refused:
    """Store what the person said and queue the reply, in one transaction.

    The client makes the id, so that sending again what may or may not have arrived never doubles it.
    """
    text = content.replace("\x00", "").strip()
    if not text:
        return Refused(code="blank", sentence="There is nothing to send yet.")
    if len(text) > MAX_MESSAGE_CHARACTERS:
        return Refused(
            code="too_long",
            sentence=f"That is {len(text):,} characters; at most {MAX_MESSAGE_CHARACTERS:,} fit into one message.",
        )
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation = await find_conversation(session, conversation_id, user_id, lock=True)
        if conversation is None:
            return Refused(code="no_conversation", sentence="That conversation is not here any more.")
        known = await _already_sent(session, message_id)
        if known is not None:
            if known.conversation_id == conversation_id:
                return known
            return Refused(code="taken", sentence="Another message has this id. Send it again under a new one.")
        if await active_run(session, conversation_id) is not None:
            return Refused(
                code="generation_locked", sentence="The reply is still being written. Wait for it, or stop it first."
            )
        author = await human_member(session, conversation.space_id, user_id)
        speaker = await speaking_member(session, conversation.space_id)
        message = await add_message(
            session,
            runtime.ids,
            id=message_id,
            conversation_id=conversation_id,
            membership_id=author.id,
            role="user",
            content=text,
            now=now,
        )
        await append_event(session, conversation_id, "message", now, message_id=str(message_id))
        if speaker is not None:
            await plan_run(session, runtime, conversation_id, speaker.id, kind="user_turn", reason="user_message")
        return message


async def _already_sent(session: AsyncSession, message_id: UUID) -> Message | None:
    found: Message | None = await session.scalar(select(Message).where(Message.id == message_id))
    return found
