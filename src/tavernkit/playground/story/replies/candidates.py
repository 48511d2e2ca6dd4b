"""Suggestions for what a person could say next: written by a worker, sent to that person alone, and never sent."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, lock_totals, require_in_use
from tavernkit.playground.story.prompting.fitting import check_fits, fitting_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs, inputs_for, turn_of
from tavernkit.playground.story.prompting.replies import HeardReply, Usage, count_usage, make_reply, usage_of
from tavernkit.playground.story.runs.queries import check_tokens
from tavernkit.values import Json

CANDIDATES_KIND = "copilot_candidates"
MAX_CANDIDATES = 4
LOOK_SECONDS = 0.05


async def ask_candidates(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, count: int) -> Job:
    """Have some suggestions written for the person who asks; they arrive one by one, and are the job's result."""
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART)
        require_in_use(conversation)
        if access.member is None:
            raise Refused(code="forbidden", sentence="Only members speak here. Join the space first.")
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
    asking = {asyncio.create_task(_ask(runtime, inputs)): index for index, inputs in enumerate(turns)}
    candidates: dict[int, dict[str, Json]] = {}
    try:
        while asking:
            written, _ = await asyncio.wait(asking, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
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
        gone = "The conversation is gone, or the person has left it. Open another one."
        seed = work.claim.job_id.int + index
        turn = await turn_of(session, conversation_id, member_id, kind="impersonate", seed=seed, otherwise=gone)
        await check_tokens(session, conversation_id)
        return await inputs_for(session, turn, work.runtime.clock())


async def _ask(runtime: Runtime, inputs: PromptInputs) -> tuple[str, Usage]:
    prompt = await asyncio.to_thread(fitting_prompt, inputs)
    check_fits(prompt)
    heard = HeardReply()
    await heard.listen(runtime, inputs.provider, prompt.request)
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
            candidate["error"] = str(error)
        else:
            owner_id, space_id = await lock_totals(session, conversation_id)
            await count_usage(session, owner_id, space_id, conversation_id, usage)
        await work.commit_step(session, done)
        if work.claim.owner_id is not None:
            event = {"job": str(work.claim.job_id), **candidate}
            announce(session, user_topic(work.claim.owner_id), copilot=event, conversation=str(conversation_id))
    return candidate
