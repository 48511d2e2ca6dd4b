"""Directing a round: pausing it, going on, passing over a turn, ending it, and saying who speaks next."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Round
from tavernkit.playground.base.refused import Refused, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use
from tavernkit.playground.story.access.locks import lock_space_of
from tavernkit.playground.story.access.members import active_members
from tavernkit.playground.story.runs.documents import TurnsOut
from tavernkit.playground.story.runs.planner import cancel_queued, leave_running, settle_undecided
from tavernkit.playground.story.runs.queries import Turns, active_round, active_run, shown_turns
from tavernkit.playground.story.runs.requests import apply_input_policy, locked
from tavernkit.playground.story.runs.rounds import (
    append_round_event,
    begin_round,
    end_round,
    go_on,
    set_queue,
    skip_slot,
    switch_automation_off,
)
from tavernkit.playground.story.runs.service import end_if_left
from tavernkit.playground.story.runs.speakers import ChosenSpeakers, can_speak


async def pause_round(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Turns:
    """Let nobody begin to speak; a reply that is being written is finished."""
    async with runtime.database.write() as session:
        conversation, round = await _going_on(session, viewer, conversation_id)
        if round.scheduling_state == "ai_generating":
            round.scheduling_state = "paused"
            await cancel_queued(session, runtime, conversation_id)
            await append_round_event(session, runtime, round)
        return await shown_turns(session, conversation)


async def resume_round(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Turns:
    """Go on with the turn that it is."""
    async with runtime.database.write() as session:
        conversation, round = await _going_on(session, viewer, conversation_id)
        if await active_run(session, conversation_id) is not None:
            raise Refused(code="conflict", sentence=locked().sentence)
        await go_on(session, runtime, conversation, round, at=round.current_position, delay_ms=0)
        return await shown_turns(session, conversation)


async def skip_turn(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Turns:
    """Pass over the turn that it is; what was written of it stays on its run."""
    async with runtime.database.write() as session:
        conversation, round = await _going_on(session, viewer, conversation_id)
        await settle_undecided(session, runtime, conversation_id)
        await skip_slot(session, runtime, conversation, round, reason="skipped")
        await append_round_event(session, runtime, round)
        return await shown_turns(session, conversation)


async def stop_round(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Turns:
    """End the round and whatever goes on by itself; a reply that is being written is stopped."""
    async with runtime.database.write() as session:
        await lock_space_of(session, conversation_id)
        conversation, round = await _going_on(session, viewer, conversation_id)
        await switch_automation_off(session, conversation)
        running = await leave_running(session, runtime, conversation_id)
        await cancel_queued(session, runtime, conversation_id)
        await settle_undecided(session, runtime, conversation_id)
        await end_round(session, runtime, conversation_id, "canceled", reason="stopped")
        if running is not None:
            await end_if_left(session, runtime, conversation, running)
        await append_round_event(session, runtime, round)
        return await shown_turns(session, conversation)


async def choose_queue(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, round_id: UUID | None, member_ids: Sequence[UUID]
) -> Turns:
    """Say who speaks next, in which order; the same member may speak several times.

    `round_id` is the round whose queue it is; None begins one. Who saw another round than the one that goes on is
    refused.
    """
    async with runtime.database.write() as session:
        conversation, _ = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
        require_in_use(conversation)
        await _check_speakers(session, conversation, member_ids)
        round = await active_round(session, conversation_id)
        if (None if round is None else round.id) != round_id:
            turns = TurnsOut.of(await shown_turns(session, conversation), runtime.live_text)
            raise stale("round", turns.model_dump(mode="json"))
        chosen = [
            ChosenSpeakers(member_id=id, cause="chosen", reason={"sentence": "Chosen by hand."}) for id in member_ids
        ]
        if round is not None:
            await set_queue(session, runtime, round, chosen)
        elif not chosen:
            raise _no_round()
        else:
            await apply_input_policy(session, runtime, conversation)
            await begin_round(session, runtime, conversation, runtime.ids(), chosen)
        return await shown_turns(session, conversation)


async def _going_on(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> tuple[Conversation, Round]:
    conversation, _ = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
    require_in_use(conversation)
    round = await active_round(session, conversation_id)
    if round is None:
        raise _no_round()
    return conversation, round


async def _check_speakers(session: AsyncSession, conversation: Conversation, member_ids: Sequence[UUID]) -> None:
    members = await active_members(session, conversation.space_id)
    unable = set(member_ids) - {member.id for member in members if can_speak(member, conversation.id)}
    if not unable:
        return
    muted = [member.cached_display_name for member in members if member.id in unable and member.kind == "character"]
    if len(muted) < len(unable):
        raise not_found("speaker")
    verb = "is" if len(muted) == 1 else "are"
    raise Refused(
        code="conflict", sentence=f"{', '.join(muted)} {verb} muted. Unmute them, or take them out of the order."
    )


def _no_round() -> Refused:
    return Refused(code="conflict", sentence="No round is going on. Send a message, or say who is to speak.")
