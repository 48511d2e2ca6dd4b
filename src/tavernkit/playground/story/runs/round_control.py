"""Directing a round: pausing it, going on, passing over a turn, ending it, and saying who speaks next.

Also when somebody who was to speak cannot any more, or what was to be answered is gone; and what goes on without a
person: characters among themselves, or a model that writes for somebody. Never both.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Round, Run, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    SpaceAccess,
    active_members,
    conversation_to_change,
    lock_conversation,
    lock_space_of,
)
from tavernkit.playground.story.paths.state import end_of_path
from tavernkit.playground.story.runs.documents import TurnsOut
from tavernkit.playground.story.runs.planner import cancel_queued, leave_running, settle_undecided
from tavernkit.playground.story.runs.queries import Turns, active_round, active_run, shown_turns
from tavernkit.playground.story.runs.requests import apply_input_policy, locked
from tavernkit.playground.story.runs.rounds import (
    announce_copilot,
    append_round_event,
    append_turns_event,
    begin_round,
    end_round,
    go_on,
    set_queue,
    skip_slot,
    slot_at,
    start_round,
    switch_automation_off,
    switch_copilot_off,
)
from tavernkit.playground.story.runs.service import end_if_left
from tavernkit.playground.story.runs.speakers import ChosenSpeakers, can_speak, has_copilot, is_group


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


MAX_ROUNDS = 10
MAX_STEPS = 10


async def set_auto_mode(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, rounds: int) -> Turns:
    """Let characters answer each other for so many rounds; 0 stops after the round that goes on."""
    async with runtime.database.write() as session:
        conversation, _access = await _entered(session, viewer, conversation_id)
        members = await active_members(session, conversation.space_id)
        if rounds and not is_group(members):
            raise Refused("conflict", _("Auto mode needs at least two characters. Add one first."))
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
            raise Refused("forbidden", _("Only members can write here. Join the space first."))
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
    return await conversation_to_change(session, conversation_id, viewer)


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
            raise Refused("conflict", locked().sentence)
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
        conversation, _access = await conversation_to_change(session, conversation_id, viewer)
        await _check_speakers(session, conversation, member_ids)
        round = await active_round(session, conversation_id)
        if (None if round is None else round.id) != round_id:
            turns = TurnsOut.of(await shown_turns(session, conversation), runtime.live_text)
            raise stale(_("round"), turns)
        chosen = [
            ChosenSpeakers(member_id=id, cause="chosen", reason={"sentence": "Chosen manually."}) for id in member_ids
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
    conversation, _access = await conversation_to_change(session, conversation_id, viewer)
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
        raise not_found(_("speaker"))
    names = ", ".join(muted)
    raise Refused("conflict", _("Muted: {names}. Unmute them, or remove them from the reply order.", names=names))


def _no_round() -> Refused:
    return Refused("conflict", _("No round is active. Send a message, or choose who replies."))
