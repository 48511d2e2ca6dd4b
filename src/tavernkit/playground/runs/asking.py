"""What people want of replies: one from somebody, one more, another one, or the next words of their own.

Who asks for a reply themselves ends the round that was going on; what comes of it never moves a round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.conversations.in_use import not_in_use
from tavernkit.playground.conversations.queries import active_run, queued_run
from tavernkit.playground.database.models import Conversation, Message, Run, SpaceMembership
from tavernkit.playground.outcome import Refused, not_found
from tavernkit.playground.paths.queries import end_of_path
from tavernkit.playground.runs.planner import cancel_queued, leave_running, plan_run, settle_undecided
from tavernkit.playground.runs.rounds import end_round, rules_of
from tavernkit.playground.runs.speakers import choose_speakers, speaking_member
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.spaces.access import Access, Entry, conversation_for

__all__ = ["LOCKED", "continue_reply", "force_talk", "impersonate", "is_character_here", "make_way"]

LOCKED = Refused(code="generation_locked", sentence="The reply is still being written. Wait for it, or stop it first.")


async def force_talk(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, speaker_id: UUID | None = None
) -> Run | Refused:
    """Let a character speak now, muted or not; without one in particular, whoever would speak next."""
    async with runtime.database.write() as session:
        found = await _open_conversation(session, viewer, conversation_id)
        if isinstance(found, Refused):
            return found
        conversation, _ = found
        if speaker_id is None:
            seed = runtime.ids().int
            rules = await rules_of(session, conversation)
            chosen = await choose_speakers(session, conversation, rules, seed=seed, said=None, for_people=False)
            if not chosen:
                return Refused(code="conflict", sentence="Nobody here can speak. Add a character, or unmute one.")
            speaker_id, reason = chosen[0].member_id, chosen[0].cause
        elif await is_character_here(session, conversation, speaker_id):
            reason = "forced"
        else:
            return not_found("character")
        refused = await make_way(session, runtime, conversation)
        if refused is not None:
            return refused
        return await plan_run(session, runtime, conversation.id, speaker_id, kind="force_talk", reason=reason)


async def continue_reply(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    text: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Run | Refused:
    """Let the last reply go on where it ends; only if it says `text`, where that is given."""
    async with runtime.database.write() as session:
        found = await _open_conversation(session, viewer, conversation_id)
        if isinstance(found, Refused):
            return found
        conversation, _ = found
        end = await end_of_path(session, conversation.id)
        if end is None or end[0].role != "assistant":
            return Refused(code="conflict", sentence="The last message is no reply, so there is nothing to go on with.")
        if text is not None and end[0].content.strip() != text:
            return Refused(code="conflict", sentence="The conversation does not end with this reply any more.")
        refused = await _refuse_departed(session, end[0]) or await make_way(session, runtime, conversation)
        if refused is not None:
            return refused
        return await plan_run(
            session,
            runtime,
            conversation.id,
            end[0].membership_id,
            kind="continue",
            reason="asked",
            target_id=end[0].id,
            limits=limits,
        )


async def impersonate(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Run | Refused:
    """Let a model write the person's next message; it is answered like one that they wrote themselves."""
    async with runtime.database.write() as session:
        found = await _open_conversation(session, viewer, conversation_id)
        if isinstance(found, Refused):
            return found
        conversation, entry = found
        author = speaking_member(entry.member)
        if isinstance(author, Refused):
            return author
        refused = await make_way(session, runtime, conversation)
        if refused is not None:
            return refused
        return await plan_run(session, runtime, conversation.id, author.id, kind="impersonate", reason="asked")


async def make_way(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, *, even_queued: bool = False
) -> Refused | None:
    """End what goes on, as the space wants it: refuse while a reply is written, stop it, or let it finish alone.

    `even_queued` refuses also while one is queued, unless it waits for further messages to answer with it. Steps behind
    a reply that is there already are left to finish.
    """
    rules = await rules_of(session, conversation)
    policy = rules.during_generation_user_input_policy
    run = await active_run(session, conversation.id)
    if run is not None and run.replied_at is not None:
        run = await queued_run(session, conversation.id)
    if run is not None and policy == "reject":
        waits_for_more = rules.user_turn_debounce_ms > 0 and run.kind == "user_turn" and run.round_position == 0
        if run.status == "running" or (even_queued and not waits_for_more):
            return LOCKED
    if policy == "restart" and run is not None:
        await leave_running(session, runtime, conversation.id)
    await cancel_queued(session, runtime, conversation.id)
    await settle_undecided(session, runtime, conversation.id)
    await end_round(session, runtime, conversation.id, "canceled", reason="something_else")
    return None


async def _open_conversation(
    session: AsyncSession, viewer: Viewer, conversation_id: UUID
) -> tuple[Conversation, Entry] | Refused:
    found = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
    if isinstance(found, Refused):
        return found
    return not_in_use(found[0]) or found


async def is_character_here(session: AsyncSession, conversation: Conversation, member_id: UUID) -> bool:
    """Whether this is a character in the conversation's space, muted or not."""
    found = await session.scalar(
        select(SpaceMembership.id).where(
            SpaceMembership.id == member_id,
            SpaceMembership.space_id == conversation.space_id,
            SpaceMembership.kind == "character",
            SpaceMembership.status == "active",
        )
    )
    return found is not None


async def _refuse_departed(session: AsyncSession, message: Message) -> Refused | None:
    author = await session.get_one(SpaceMembership, message.membership_id)
    if author.status == "active":
        return None
    return Refused(
        code="conflict", sentence=f"{author.cached_display_name} is not here any more. Bring them back first."
    )
