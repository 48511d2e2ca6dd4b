"""Stopping a reply, and what becomes of one that was stopped or went wrong: kept, discarded, or tried again.

Also suggestions for what a person could say next: written by a worker, sent to that person alone, and never sent.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Conversation, Job, Message, Run
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of, stored
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    conversation_for,
    conversation_to_change,
    lock_space_of,
    lock_space_of_run,
    lock_totals,
    require_in_use,
)
from tavernkit.playground.story.pipelines.reports import run_around
from tavernkit.playground.story.prompting.fitting import check_fits, fitting_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs, inputs_for, turn_of
from tavernkit.playground.story.prompting.replies import (
    HeardReply,
    Usage,
    count_usage,
    make_reply,
    reply_meter,
    usage_of,
)
from tavernkit.playground.story.runs.planner import RunKind, plan_run, stop_run
from tavernkit.playground.story.runs.queries import active_round, active_run, check_tokens, last_run, run_for
from tavernkit.playground.story.runs.requests import check_is_here, locked
from tavernkit.playground.story.runs.rounds import end_round, go_on, switch_automation_off, turn_taken
from tavernkit.playground.story.runs.service import end_if_left
from tavernkit.playground.story.runs.storing import ReplyIds, store_reply
from tavernkit.playground.story.usage.ledger import Purpose
from tavernkit.values import Json

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
            raise Refused("nothing_to_keep", _("There is no unfinished reply to keep."))
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
            raise Refused("conflict", _("This reply is still being written. Stop it first."))
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
        conversation, _access = await conversation_to_change(session, conversation_id, viewer)
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
        raise Refused("nothing_to_retry", _("There is no failed reply to retry."))
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


CANDIDATES_KIND = "copilot_candidates"
MAX_CANDIDATES = 4
LOOK_SECONDS = 0.05


async def ask_candidates(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, count: int) -> Job:
    """Have some suggestions written for the person who asks; they arrive one by one, and are the job's result."""
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART)
        require_in_use(conversation)
        if access.member is None:
            raise Refused("forbidden", _("Only members can write here. Join the space first."))
        return await enqueue_job(
            session,
            runtime,
            kind=CANDIDATES_KIND,
            owner_id=viewer.user_id,
            payload={"conversation_id": str(conversation_id), "member_id": str(access.member.id), "count": count},
            total=count,
        )


async def write_candidates(work: JobWork) -> dict[str, Any]:
    """Ask the model for all of them at once, and announce each as it comes; nothing of it changes the story."""
    runtime, payload = work.runtime, work.claim.payload
    conversation_id, count = UUID(payload["conversation_id"]), int(payload["count"])
    turns = [await _inputs(work, conversation_id, UUID(payload["member_id"]), index) for index in range(count)]
    purpose = Purpose(conversation_id=conversation_id, kind="suggestion", job_id=work.claim.job_id)
    asking = {asyncio.create_task(_ask(runtime, inputs, purpose)): index for index, inputs in enumerate(turns)}
    candidates: dict[int, dict[str, Json]] = {}
    try:
        while asking:
            written, _waiting = await asyncio.wait(asking, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for task in written:
                index = asking.pop(task)
                candidates[index] = await _publish(work, conversation_id, index, task, done=len(candidates) + 1)
            work.check()
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return {"candidates": [candidates[index] for index in range(count)]}


async def _inputs(work: JobWork, conversation_id: UUID, member_id: UUID, index: int) -> PromptInputs:
    work.check()
    async with work.runtime.database.read() as session:
        gone = _("The conversation was deleted, or you have left it. Open another one.")
        seed = work.claim.job_id.int + index
        turn = await turn_of(session, conversation_id, member_id, kind="impersonate", seed=seed, otherwise=gone)
        await check_tokens(session, conversation_id, work.runtime.clock())
        return await inputs_for(session, turn, work.runtime.clock())


async def _ask(runtime: Runtime, inputs: PromptInputs, purpose: Purpose) -> tuple[str, Usage]:
    prompt = await asyncio.to_thread(fitting_prompt, inputs)
    check_fits(prompt)
    heard = HeardReply()
    await heard.listen(runtime, inputs.provider, prompt.request, reply_meter(runtime, purpose, prompt))
    reply = await asyncio.to_thread(make_reply, prompt, heard.text, heard.thoughts)
    return reply.text, usage_of(prompt, heard.text, heard.finished)


async def _publish(
    work: JobWork, conversation_id: UUID, index: int, task: asyncio.Task[tuple[str, Usage]], *, done: int
) -> dict[str, Json]:
    """Count what a suggestion used, and announce what it is to the person, or why there is none."""
    candidate: dict[str, Json] = {"index": index}
    async with work.runtime.database.write() as session:
        try:
            candidate["text"], usage = task.result()
        except TavernKitError as error:
            candidate["error"], candidate["failure"] = str(error), stored("failed", sentence_of(error))
        else:
            owner_id, space_id = await lock_totals(session, conversation_id)
            await count_usage(session, owner_id, space_id, conversation_id, usage)
        await work.commit_step(session, done)
        if work.claim.owner_id is not None:
            event = {"job": str(work.claim.job_id), **candidate}
            announce(session, user_topic(work.claim.owner_id), copilot=event, conversation=str(conversation_id))
    return candidate
