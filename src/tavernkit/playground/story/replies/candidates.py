"""Suggestions for what a person could say next: written by a worker, sent to that person alone, and never sent."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Conversation, Job, Space, SpaceMembership
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.llm.base import Finished, ModelError, TextDelta, ThoughtDelta
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, lock_totals, require_in_use
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.cast import UnpromptableError
from tavernkit.playground.story.prompting.fitting import check_fits, fitting_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs, PromptTurn, inputs_for
from tavernkit.playground.story.prompting.replies import Usage, count_usage, make_reply, usage_of
from tavernkit.playground.story.runs.queries import check_tokens
from tavernkit.values import Json, Value

CANDIDATES_KIND = "copilot_candidates"
MAX_CANDIDATES = 4
LOOK_SECONDS = 0.05


class _CandidateReply(Value, frozen=True, kw_only=True):
    text: str
    usage: Usage


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
        conversation, space, speaker = await _where(session, conversation_id, member_id)
        await check_tokens(session, conversation_id)
        turn = PromptTurn(
            conversation=conversation,
            space=space,
            speaker=speaker,
            kind="impersonate",
            seed=work.claim.job_id.int + index,
        )
        return await inputs_for(session, turn, work.runtime.clock())


async def _where(
    session: AsyncSession, conversation_id: UUID, member_id: UUID
) -> tuple[Conversation, Space, SpaceMembership]:
    conversation = await session.get(Conversation, conversation_id)
    member = await session.get(SpaceMembership, member_id)
    if conversation is None or member is None or member.status != "active":
        raise UnpromptableError("The conversation is gone, or the person has left it. Open another one.")
    return conversation, await session.get_one(Space, conversation.space_id), member


async def _ask(runtime: Runtime, inputs: PromptInputs) -> _CandidateReply:
    prompt = await asyncio.to_thread(fitting_prompt, inputs)
    check_fits(prompt)
    text, thoughts, finished = "", "", None
    async for event in runtime.models.client_for(inputs.provider).stream(prompt.request):
        match event:
            case TextDelta():
                text += event.text
            case ThoughtDelta():
                thoughts += event.thought
            case Finished():
                finished = event
    return await asyncio.to_thread(_written, prompt, text, thoughts, finished)


def _written(prompt: BuiltPrompt, text: str, thoughts: str, finished: Finished | None) -> _CandidateReply:
    reply = make_reply(prompt, text.replace("\x00", ""), thoughts.replace("\x00", ""))
    if not reply.text:
        raise ModelError("The model sent an empty reply. Try again, or choose another model.", code="empty_response")
    return _CandidateReply(text=reply.text, usage=usage_of(prompt, text, finished))


async def _publish(
    work: JobWork, conversation_id: UUID, index: int, task: asyncio.Task[_CandidateReply], *, done: int
) -> dict[str, Json]:
    """Count what a suggestion used, and announce what it is to the person, or why there is none."""
    candidate: dict[str, Json] = {"index": index}
    async with work.runtime.database.write() as session:
        try:
            written = task.result()
        except TavernKitError as error:
            candidate["error"] = str(error)
        else:
            candidate["text"] = written.text
            owner_id, space_id = await lock_totals(session, conversation_id)
            await count_usage(session, owner_id, space_id, conversation_id, written.usage)
        await work.commit_step(session, done)
        if work.claim.owner_id is not None:
            event = {"job": str(work.claim.job_id), **candidate}
            announce(session, user_topic(work.claim.owner_id), copilot=event, conversation=str(conversation_id))
    return candidate
