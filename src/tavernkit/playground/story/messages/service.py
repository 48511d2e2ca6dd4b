"""Saying something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, SpaceMembership
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use
from tavernkit.playground.story.paths.writing import add_message, clean_text
from tavernkit.playground.story.runs.planner import plan_run
from tavernkit.playground.story.runs.requests import apply_input_policy, is_character_here
from tavernkit.playground.story.runs.rounds import answer_person
from tavernkit.playground.story.runs.speakers import has_copilot, speaking_member

SentRole: TypeAlias = Literal["user", "system"]


async def send_message(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    message_id: UUID,
    content: str,
    role: SentRole = "user",
    speaker_id: UUID | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Message:
    """Store what the person said and begin a round of replies, in one transaction; narration, of the role `system`,
    gets none, unless a speaker is named.

    While a reply is written, the space's policy decides: refuse, stop that reply, or answer behind it. `speaker_id` is
    the character who answers, whoever else would, within the `limits`. The client makes the id, so that sending again
    what may or may not have arrived never doubles it.
    """
    text = clean_text(content)
    try:
        async with runtime.database.write() as session:
            conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
            known: Message | None = await session.scalar(select(Message).where(Message.id == message_id))
            if known is not None:
                if known.conversation_id != conversation_id:
                    raise _taken()
                return known
            author = _may_speak(conversation, access.member)
            if speaker_id is not None and not await is_character_here(session, conversation, speaker_id):
                raise not_found("character")
            is_answered = role == "user" or speaker_id is not None
            if is_answered:
                await apply_input_policy(session, runtime, conversation, even_queued=True)
            return await _say(session, runtime, conversation, author, message_id, text, role, speaker_id, limits)
    except IntegrityError:
        # The same id was sent into another conversation at the same moment.
        raise _taken() from None


def _may_speak(conversation: Conversation, member: SpaceMembership | None) -> SpaceMembership:
    """The membership that speaks."""
    require_in_use(conversation)
    author = speaking_member(member)
    if has_copilot(author, conversation.id):
        raise Refused(
            code="copilot_blocked", sentence="The copilot is writing for you. Switch it off to write yourself."
        )
    return author


async def _say(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    author: SpaceMembership,
    message_id: UUID,
    text: str,
    role: SentRole,
    speaker_id: UUID | None,
    limits: Mapping[str, Any] | None,
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
    if speaker_id is not None:
        await plan_run(session, runtime, conversation.id, speaker_id, kind="force_talk", reason="asked", limits=limits)
    elif role == "user":
        await answer_person(session, runtime, conversation, message)
    return message


def _taken() -> Refused:
    return Refused(code="taken", sentence="Another message has this id. Send it again under a new one.")
