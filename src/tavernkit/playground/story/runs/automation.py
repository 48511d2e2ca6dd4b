"""What goes on without a person: characters among themselves, and a model that writes for somebody. Never both."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for, require_in_use
from tavernkit.playground.story.access.locks import lock_conversation, lock_space_of
from tavernkit.playground.story.access.members import active_members
from tavernkit.playground.story.runs.planner import cancel_queued
from tavernkit.playground.story.runs.queries import Turns, active_round, active_run, shown_turns
from tavernkit.playground.story.runs.rounds import (
    announce_copilot,
    append_turns_event,
    end_round,
    start_round,
    switch_copilot_off,
)
from tavernkit.playground.story.runs.speakers import has_copilot, is_group
from tavernkit.playground.story.runs.unavailable import members_changed

MAX_ROUNDS = 10
MAX_STEPS = 10


async def set_auto_mode(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, rounds: int) -> Turns:
    """Let characters answer each other for so many rounds; 0 stops after the round that goes on."""
    async with runtime.database.write() as session:
        conversation, _ = await _entered(session, viewer, conversation_id)
        members = await active_members(session, conversation.space_id)
        if rounds and not is_group(members):
            raise Refused(code="conflict", sentence="Characters go on by themselves only where there are several.")
        conversation.auto_mode_remaining_rounds = rounds or None
        if rounds:
            for member in members:
                if has_copilot(member, conversation_id):
                    switch_copilot_off(session, conversation_id, member)
            await session.flush()
            await members_changed(session, runtime, conversation.space_id)
            await _begin(session, runtime, conversation)
        await append_turns_event(session, runtime, conversation_id)
        return await shown_turns(session, conversation)


async def stop_auto_mode(session: AsyncSession, runtime: Runtime, space_id: UUID) -> None:
    """Stop the characters of a space, which is locked, from answering each other; a reply that is being written is
    finished."""
    automatic = (
        select(Conversation.id)
        .where(Conversation.space_id == space_id, Conversation.auto_mode_remaining_rounds.is_not(None))
        .order_by(Conversation.id)
    )
    for conversation_id in list(await session.scalars(automatic)):
        conversation = await lock_conversation(session, conversation_id)
        conversation.auto_mode_remaining_rounds = None
        round = await active_round(session, conversation_id)
        if round is not None and round.metadata_["by"] == "automation":
            await cancel_queued(session, runtime, conversation_id)
            await end_round(session, runtime, conversation_id, "canceled", reason="auto_mode_off")
        await append_turns_event(session, runtime, conversation_id)


async def set_copilot(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, steps: int) -> Turns:
    """Let a model write the person's own next messages, so many of them; with 0 they write themselves again."""
    async with runtime.database.write() as session:
        conversation, access = await _entered(session, viewer, conversation_id)
        member = access.member
        if member is None:
            raise Refused(code="forbidden", sentence="Only members speak here. Join the space first.")
        if steps:
            conversation.auto_mode_remaining_rounds = None
            member.copilot_mode, member.copilot_remaining_steps = "full", steps
            member.copilot_conversation_id = conversation_id
            member.settings_version += 1
            announce_copilot(session, conversation_id, member)
            await session.flush()
            # It may have been writing in another conversation until now.
            await members_changed(session, runtime, conversation.space_id)
            await _begin(session, runtime, conversation)
        elif has_copilot(member, conversation_id):
            switch_copilot_off(session, conversation_id, member)
            await session.flush()
            await members_changed(session, runtime, conversation.space_id)
        await append_turns_event(session, runtime, conversation_id)
        return await shown_turns(session, conversation)


async def _begin(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> None:
    """Begin a round unless somebody is speaking; one that waits for a person need not any more."""
    round = await active_round(session, conversation.id)
    if await active_run(session, conversation.id) is None and (
        round is None or round.scheduling_state != "ai_generating"
    ):
        await start_round(session, runtime, conversation, by="automation")


async def _entered(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> tuple[Conversation, SpaceAccess]:
    await lock_space_of(session, conversation_id)
    found = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
    require_in_use(found[0])
    return found
