"""When somebody who was to speak cannot any more, or what was to be answered is gone."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Conversation, Message, Round, Run, SpaceMembership
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.locks import lock_conversation
from tavernkit.playground.story.paths.queries import end_of_path
from tavernkit.playground.story.runs.planner import cancel_queued, leave_running
from tavernkit.playground.story.runs.queries import active_round
from tavernkit.playground.story.runs.rounds import end_round, skip_slot, slot_at
from tavernkit.playground.story.runs.speakers import can_speak


async def members_changed(session: AsyncSession, runtime: Runtime, space_id: UUID) -> None:
    """Pass over those who may not speak any more, wherever in the space it is their turn; the space is locked.

    A muted member still finishes what it was asked for in person, a removed one does not.
    """
    speaking = (
        select(Conversation.id)
        .outerjoin(Run, (Run.conversation_id == Conversation.id) & Run.status.in_(("queued", "running")))
        .outerjoin(Round, (Round.conversation_id == Conversation.id) & (Round.status == "active"))
        .where(Conversation.space_id == space_id, or_(Run.id.is_not(None), Round.id.is_not(None)))
        .distinct()
        .order_by(Conversation.id)
    )
    for conversation_id in list(await session.scalars(speaking)):
        conversation = await lock_conversation(session, conversation_id)
        await _pass_over(session, runtime, conversation)
        await _drop_departed(session, runtime, conversation)


async def before_hiding(session: AsyncSession, runtime: Runtime, conversation: Conversation, message: Message) -> None:
    """A message is about to be hidden: what answers it, or regenerates it, ends. Other replies are left alone."""
    end = await end_of_path(session, conversation.id)
    round = await active_round(session, conversation.id)
    is_end = end is not None and end[0].id == message.id
    is_trigger = round is not None and round.trigger_message_id == message.id
    answers = Run.round_id.is_not(None) | Run.kind.in_(("continue", "copilot", "impersonate"))
    for run in await session.scalars(
        select(Run).where(
            Run.conversation_id == conversation.id,
            Run.status.in_(("queued", "running")),
            or_(Run.target_message_id == message.id, answers if is_end or is_trigger else Run.id.is_(None)),
        )
    ):
        await _end_run(session, runtime, run)
    if round is not None and (is_end or is_trigger):
        await end_round(session, runtime, conversation.id, "canceled", reason="message_hidden")


async def _drop_departed(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> None:
    """End what departed members were asked for in person, or say late or in a round that waits."""
    for run in await session.scalars(
        select(Run)
        .join(SpaceMembership, SpaceMembership.id == Run.speaker_membership_id)
        .where(
            Run.conversation_id == conversation.id,
            Run.status.in_(("queued", "running")),
            SpaceMembership.status != "active",
        )
    ):
        await _end_run(session, runtime, run)


async def _pass_over(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> None:
    round = await active_round(session, conversation.id)
    if round is None or round.scheduling_state != "ai_generating":
        return
    slot = await slot_at(session, round, round.current_position)
    if slot is not None and not can_speak(await session.get_one(SpaceMembership, slot.membership_id), conversation.id):
        await skip_slot(session, runtime, conversation, round, reason="not_schedulable")


async def _end_run(session: AsyncSession, runtime: Runtime, run: Run) -> None:
    if run.status == "queued":
        await cancel_queued(session, runtime, run.conversation_id)
    else:
        await leave_running(session, runtime, run.conversation_id)
