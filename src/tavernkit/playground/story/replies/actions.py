"""Stopping a reply, and what becomes of one that was stopped or went wrong: kept, discarded, or tried again."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Run
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    conversation_to_change,
    lock_space_of,
    lock_space_of_run,
    require_in_use,
)
from tavernkit.playground.story.pipelines.reports import run_around
from tavernkit.playground.story.runs.planner import RunKind, plan_run, stop_run
from tavernkit.playground.story.runs.queries import active_round, active_run, last_run, run_for
from tavernkit.playground.story.runs.requests import check_is_here, locked
from tavernkit.playground.story.runs.rounds import end_round, go_on, switch_automation_off, turn_taken
from tavernkit.playground.story.runs.service import end_if_left
from tavernkit.playground.story.runs.storing import ReplyIds, store_reply

_OVER = ("failed", "canceled")
_KINDS: dict[str, RunKind] = {
    "user_turn": "user_turn",
    "auto_mode": "user_turn",
    "copilot": "impersonate",
    "regenerate": "regenerate",
    "force_talk": "force_talk",
    "continue": "continue",
    "impersonate": "impersonate",
}
"""As what each kind of run is tried again outside of a round."""


async def request_stop(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Run:
    """Stop a run, at once if it only waits or its worker is gone, otherwise by asking its worker; its round pauses."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        await lock_space_of_run(session, run_id)
        run, conversation = await run_for(session, run_id, viewer, Access.TAKE_PART, lock=True)
        if run.status not in ("queued", "running"):
            return run
        if run.status == "queued":
            run.status, run.finished_at, run.cancel_requested_at = "canceled", now, now
        else:
            stop_run(session, runtime, run)
        round = await active_round(session, conversation.id)
        if round is not None and round.id == run.round_id and round.scheduling_state == "ai_generating":
            round.scheduling_state = "paused"
        await session.flush()
        await append_event(session, conversation.id, "run", now, run_id=str(run.id))
        await end_if_left(session, runtime, conversation, run)
        return run


async def keep_text(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Message:
    """Make what a stopped or failed run had written the reply; its round goes on behind it."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        await lock_space_of_run(session, run_id)
        run, conversation = await run_for(session, run_id, viewer, Access.TAKE_PART, lock=True)
        require_in_use(conversation)
        if run.dismissed or run.status not in _OVER or not run.text.strip():
            raise Refused(code="nothing_to_keep", sentence="There is no interrupted text to keep any more.")
        run.dismissed = True
        message = await store_reply(
            session,
            runtime,
            run,
            text=await _whole_text(session, run),
            metadata={},
            state_delta=None,
            now=now,
            ids=await _planned_ids(session, run),
        )
        round = await active_round(session, conversation.id)
        if round is not None and round.id == run.round_id:
            round.scheduling_state = "ai_generating"
        await turn_taken(session, runtime, conversation, run, message)
        return message


async def _planned_ids(session: AsyncSession, run: Run) -> ReplyIds | None:
    """Those that the reply was to have: what steps have written before it, and it was told of, stays its own."""
    around = await run_around(session, run.id)
    if around is None or around.message_id is None or around.swipe_id is None:
        return None
    return ReplyIds(message_id=around.message_id, swipe_id=around.swipe_id)


async def discard_text(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Run:
    """Settle a stopped or failed run without keeping its text; its round is over, and nothing goes on by itself."""
    async with runtime.database.write() as session:
        await lock_space_of_run(session, run_id)
        run, conversation = await run_for(session, run_id, viewer, Access.TAKE_PART, lock=True)
        if run.status not in _OVER:
            raise Refused(code="conflict", sentence="This reply is not over yet. Stop it first.")
        if run.dismissed:
            # Something else has taken its place already, perhaps in the same round.
            return run
        run.dismissed = True
        round = await active_round(session, conversation.id)
        if round is not None and round.id == run.round_id:
            await switch_automation_off(session, conversation)
            await end_round(session, runtime, conversation.id, "canceled", reason="discarded")
        await append_event(session, conversation.id, "run", runtime.clock(), run_id=str(run.id))
        return run


async def retry(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Run:
    """Ask the same speaker again for the reply that failed or was stopped, in the same turn of its round; in person
    where nobody of the round can speak any more, which ends it."""
    async with runtime.database.write() as session:
        await lock_space_of(session, conversation_id)
        conversation, _ = await conversation_to_change(session, conversation_id, viewer)
        if await active_run(session, conversation_id) is not None:
            raise locked()
        round = await active_round(session, conversation_id)
        if round is not None:
            await go_on(session, runtime, conversation, round, at=round.current_position, delay_ms=0)
            planned = await active_run(session, conversation_id)
            if planned is not None:
                return planned
        return await _again(session, runtime, conversation)


async def _again(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> Run:
    last = await last_run(session, conversation.id)
    if last is None or last.status not in _OVER:
        raise Refused(code="nothing_to_retry", sentence="There is no reply that went wrong.")
    await check_is_here(session, last.speaker_membership_id)
    return await plan_run(
        session,
        runtime,
        conversation.id,
        last.speaker_membership_id,
        kind=_KINDS[last.kind],
        reason="retry",
        target_id=last.target_message_id,
        limits=last.limits,
    )


async def _whole_text(session: AsyncSession, run: Run) -> str:
    """What a run has written, behind what it was to go on with."""
    text = run.text.strip()
    if run.kind != "continue" or run.target_message_id is None:
        return text
    target = await session.get(Message, run.target_message_id)
    return text if target is None else f"{target.content.rstrip()} {text}"
