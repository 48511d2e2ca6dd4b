"""Rounds: who speaks after whom is decided once and kept; each reply moves the round on, and nothing else does.

Whoever calls anything here holds the lock of the conversation. A round knows its turns by their places, for the same
member may have several. A reply that belongs to another round than the active one is late, and moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    Round,
    RoundSlot,
    Run,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import active_members
from tavernkit.playground.story.runs.planner import RoundEnd, RunKind, cancel_queued, leave_running, plan_run
from tavernkit.playground.story.runs.queries import active_round
from tavernkit.playground.story.runs.speakers import ChosenSpeakers, can_speak, choose_speakers, has_copilot, is_group
from tavernkit.playground.story.settings_schema.models import SpaceGroup
from tavernkit.playground.story.settings_schema.resolving import effective

ROUNDS_WITHOUT_A_PERSON = 10
"""How long characters go on by themselves at most, until somebody says something again."""

Beginning: TypeAlias = Literal["person", "automation"]
"""Who began a round: somebody who said or wanted something, or nobody at all."""


async def rules_of(session: AsyncSession, conversation: Conversation) -> SpaceGroup:
    """How turns are taken in the conversation's space."""
    return effective(await session.get_one(Space, conversation.space_id)).settings.space


async def start_round(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    *,
    by: Beginning = "person",
    trigger: Message | None = None,
    said: str | None = None,
    delay_ms: int = 0,
) -> Round | None:
    """Choose the speakers and let the first one begin; None when nobody wants to speak.

    `said` is what a person has just said, and `trigger` the message that is answered.
    """
    id = runtime.ids()
    rules = await rules_of(session, conversation)
    chosen = await choose_speakers(session, conversation, rules, seed=id.int, said=said)
    if not chosen:
        await end_round(session, runtime, conversation.id, "superseded", reason="nobody_speaks")
        return None
    trigger_id = None if trigger is None else trigger.id
    return await begin_round(
        session, runtime, conversation, id, chosen, by=by, trigger_id=trigger_id, delay_ms=delay_ms
    )


async def answer_person(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, message: Message
) -> Round | None:
    """Begin the round that answers what a person has just said, after waiting a little for more of it.

    Where characters go on by themselves, they do so again behind it.
    """
    rules = await rules_of(session, conversation)
    if rules.auto_mode_enabled and is_group(await active_members(session, conversation.space_id)):
        conversation.auto_mode_remaining_rounds = ROUNDS_WITHOUT_A_PERSON
    return await start_round(
        session,
        runtime,
        conversation,
        trigger=message,
        said=message.content,
        delay_ms=rules.user_turn_debounce_ms,
    )


async def begin_round(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    id: UUID,
    chosen: Sequence[ChosenSpeakers],
    *,
    trigger_id: UUID | None = None,
    by: Beginning = "person",
    delay_ms: int = 0,
) -> Round:
    """Begin a round with these speakers in the place of the one that is active."""
    await end_round(session, runtime, conversation.id, "superseded", reason="new_round")
    round = Round(
        id=id,
        conversation_id=conversation.id,
        trigger_message_id=trigger_id,
        metadata_={"by": by},
        created_at=runtime.clock(),
    )
    session.add(round)
    await session.flush()
    _add_slots(session, runtime, round, chosen, first=0)
    await session.flush()
    await go_on(session, runtime, conversation, round, at=0, delay_ms=delay_ms)
    return round


async def set_queue(session: AsyncSession, runtime: Runtime, round: Round, chosen: Sequence[ChosenSpeakers]) -> None:
    """Let these speak next in the place of those who were to; what has begun stays."""
    first = round.current_position + await _has_begun(session, round)
    for slot in await _slots(session, round, at=first):
        await session.delete(slot)
    await session.flush()
    _add_slots(session, runtime, round, chosen, first=first)
    await session.flush()
    await append_round_event(session, runtime, round)


async def turn_taken(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, run: Run, message: Message
) -> None:
    """A run has spoken: count it, and let the next one speak if it was this round's turn."""
    conversation.turns_count += 1
    if run.kind == "copilot":
        await _take_step(session, conversation.id, run.speaker_membership_id)
    round = await active_round(session, conversation.id)
    if run.round_id is None:
        if round is None:
            await _behind_what_was_asked(session, runtime, conversation, run, message)
        return
    if round is None or round.id != run.round_id or run.round_position is None:
        return
    place = run.round_position
    slot = await slot_at(session, round, place)
    # Whoever waits for a person may have been told meanwhile that somebody else speaks here.
    if slot is not None and slot.membership_id == run.speaker_membership_id:
        place += 1
        if slot.status == "pending":
            slot.status, slot.finished_at = "spoken", runtime.clock()
    if round.scheduling_state == "failed" or run.round_position != round.current_position:
        return
    if round.scheduling_state == "paused":
        round.current_position = place
        await append_round_event(session, runtime, round)
        return
    await go_on(
        session,
        runtime,
        conversation,
        round,
        at=place,
        answer=message if run.kind == "copilot" else None,
    )


async def skip_slot(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, round: Round, *, reason: str
) -> None:
    """Pass over the turn that it is, whatever its run is doing, and let the next one speak."""
    await cancel_queued(session, runtime, conversation.id)
    running = await session.scalar(
        select(Run.id).where(Run.conversation_id == conversation.id, Run.status == "running", Run.round_id == round.id)
    )
    if running is not None:
        await leave_running(session, runtime, conversation.id)
    slot = await slot_at(session, round, round.current_position)
    if slot is not None and slot.status == "pending":
        slot.status, slot.skip_reason, slot.finished_at = "skipped", reason, runtime.clock()
    await go_on(session, runtime, conversation, round, at=round.current_position + 1)


async def go_on(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    round: Round,
    *,
    at: int,
    delay_ms: int | None = None,
    answer: Message | None = None,
) -> None:
    """Let the first one speak who can, from this place on; behind the last the round is complete.

    `answer` is what was written for a person in the turn before: somebody answers it, even if nothing else goes on.
    """
    by: Beginning = "automation" if round.metadata_.get("by") == "automation" else "person"
    for slot in await _slots(session, round, at=at):
        # Who has just been chosen has been read.
        member = await session.get(SpaceMembership, slot.membership_id)
        if member is not None and can_speak(member, conversation.id):
            round.current_position, round.scheduling_state = slot.position, "ai_generating"
            if delay_ms is None:
                delay_ms = (await rules_of(session, conversation)).auto_mode_delay_ms if by == "automation" else 0
            await plan_run(
                session,
                runtime,
                conversation.id,
                member.id,
                kind=_kind(member, by),
                reason=str(slot.reason.get("cause", "round")),
                round=round,
                position=slot.position,
                delay_ms=delay_ms,
            )
            return
        slot.status, slot.skip_reason, slot.finished_at = "skipped", "not_schedulable", runtime.clock()
    _end(runtime, round, "finished", "complete")
    remaining = conversation.auto_mode_remaining_rounds
    if remaining is not None:
        conversation.auto_mode_remaining_rounds = remaining - 1 if remaining > 1 else None
    await session.flush()
    if _goes_on_alone(conversation, await active_members(session, conversation.space_id)):
        await _start_alone(session, runtime, conversation, trigger=answer)
    elif answer is not None:
        await start_round(session, runtime, conversation, trigger=answer, said=answer.content)


async def end_round(
    session: AsyncSession, runtime: Runtime, conversation_id: UUID, status: RoundEnd, *, reason: str
) -> None:
    """End the active round, if there is one. What its run is doing is the caller's to decide."""
    round = await active_round(session, conversation_id)
    if round is not None:
        _end(runtime, round, status, reason)
        await session.flush()


async def freeze_round(session: AsyncSession, runtime: Runtime, conversation: Conversation, run: Run) -> None:
    """A reply went wrong: its round waits for a person, and nothing goes on by itself any more."""
    round = await active_round(session, conversation.id)
    if round is None or round.id != run.round_id:
        return
    round.scheduling_state = "failed"
    await cancel_queued(session, runtime, conversation.id)
    await switch_automation_off(session, conversation)


async def switch_automation_off(session: AsyncSession, conversation: Conversation) -> None:
    """Let nothing go on by itself any more; the space, whose members this changes, is locked."""
    conversation.auto_mode_remaining_rounds = None
    for member in await active_members(session, conversation.space_id):
        if has_copilot(member, conversation.id):
            switch_copilot_off(session, conversation.id, member)
    await session.flush()


def switch_copilot_off(session: AsyncSession, conversation_id: UUID, member: SpaceMembership) -> None:
    """Let the person write themselves again, and tell them so."""
    member.copilot_mode, member.copilot_remaining_steps = "none", 0
    member.settings_version += 1
    announce_copilot(session, conversation_id, member)


def announce_copilot(session: AsyncSession, conversation_id: UUID, member: SpaceMembership) -> None:
    """Announce to a person, and nobody else, for how many messages a model goes on to write for them."""
    if member.user_id is not None:
        steps = {"remaining_steps": member.copilot_remaining_steps}
        announce(session, user_topic(member.user_id), copilot=steps, conversation=str(conversation_id))


async def append_round_event(session: AsyncSession, runtime: Runtime, round: Round) -> None:
    """Announce to the pages that the round has changed."""
    await session.flush()
    await append_event(session, round.conversation_id, "round", runtime.clock(), round_id=str(round.id))


async def append_turns_event(session: AsyncSession, runtime: Runtime, conversation_id: UUID) -> None:
    """Announce to the pages that something else goes on by itself than before."""
    await session.flush()
    await append_event(session, conversation_id, "turns", runtime.clock())


async def slot_at(session: AsyncSession, round: Round, position: int) -> RoundSlot | None:
    """The turn at this place."""
    return await session.scalar(select(RoundSlot).where(RoundSlot.round_id == round.id, RoundSlot.position == position))


async def _behind_what_was_asked(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, run: Run, message: Message
) -> None:
    """A reply that somebody asked for is there, and no round is: what goes on by itself goes on behind it."""
    if run.kind == "impersonate":
        await start_round(session, runtime, conversation, trigger=message, said=message.content)
    elif _goes_on_alone(conversation, await active_members(session, conversation.space_id)):
        await _start_alone(session, runtime, conversation, trigger=None)


def _goes_on_alone(conversation: Conversation, members: Sequence[SpaceMembership]) -> bool:
    """Whether characters answer each other, or a model writes for somebody."""
    if conversation.auto_mode_remaining_rounds is not None:
        return True
    return any(member.kind == "human" and can_speak(member, conversation.id) for member in members)


async def _start_alone(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, *, trigger: Message | None
) -> None:
    delay = (await rules_of(session, conversation)).auto_mode_delay_ms
    await start_round(session, runtime, conversation, by="automation", trigger=trigger, delay_ms=delay)


async def _take_step(session: AsyncSession, conversation_id: UUID, member_id: UUID) -> None:
    """One message fewer that the copilot writes; behind the last it is off."""
    member = await session.get_one(SpaceMembership, member_id, populate_existing=True)
    if member.copilot_mode == "none":
        return
    member.copilot_remaining_steps = max(member.copilot_remaining_steps - 1, 0)
    if member.copilot_remaining_steps == 0:
        member.copilot_mode = "none"
    member.settings_version += 1
    await session.flush()
    announce_copilot(session, conversation_id, member)


async def _has_begun(session: AsyncSession, round: Round) -> bool:
    """Whether the turn that it is is being taken; a paused round still finishes the one it was in."""
    if round.scheduling_state == "ai_generating":
        return True
    running = await session.scalar(
        select(Run.id).where(
            Run.round_id == round.id,
            Run.round_position == round.current_position,
            Run.status == "running",
            Run.cancel_requested_at.is_(None),
        )
    )
    return running is not None


async def _slots(session: AsyncSession, round: Round, *, at: int) -> Sequence[RoundSlot]:
    found = await session.scalars(
        select(RoundSlot)
        .where(RoundSlot.round_id == round.id, RoundSlot.position >= at, RoundSlot.status == "pending")
        .order_by(RoundSlot.position)
    )
    return found.all()


def _add_slots(
    session: AsyncSession, runtime: Runtime, round: Round, chosen: Sequence[ChosenSpeakers], *, first: int
) -> None:
    session.add_all(
        RoundSlot(
            id=runtime.ids(),
            round_id=round.id,
            position=position,
            membership_id=speaker.member_id,
            reason={**speaker.reason, "cause": speaker.cause},
        )
        for position, speaker in enumerate(chosen, start=first)
    )


def _end(runtime: Runtime, round: Round, status: RoundEnd, reason: str) -> None:
    round.status, round.scheduling_state = status, None
    round.ended_reason, round.finished_at = reason, runtime.clock()


def _kind(member: SpaceMembership, by: Beginning) -> RunKind:
    if member.kind == "human":
        return "copilot"
    return "auto_mode" if by == "automation" else "user_turn"
