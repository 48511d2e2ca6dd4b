"""Runs and rounds over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path
from pydantic import Field

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.paging import behind_time, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.requests import After, ApiCaller, ConversationId, Limit, Page, documented, page
from tavernkit.playground.story.paths.documents import MessageOut
from tavernkit.playground.story.paths.state import shown_message
from tavernkit.playground.story.replies.actions import (
    MAX_CANDIDATES,
    ask_candidates,
    discard_text,
    keep_text,
    request_stop,
    retry,
)
from tavernkit.playground.story.runs.documents import RunOut, TurnsOut
from tavernkit.playground.story.runs.queries import Turns, list_runs, read_run, read_turns
from tavernkit.playground.story.runs.requests import continue_reply, force_talk, impersonate, regenerate
from tavernkit.playground.story.runs.round_control import (
    MAX_ROUNDS,
    MAX_STEPS,
    choose_queue,
    pause_round,
    resume_round,
    set_auto_mode,
    set_copilot,
    skip_turn,
    stop_round,
)

MAX_SLOTS = 100


class GenerateIn(StrictModel):
    """Who is to speak."""

    speaker_id: UUID | None = Field(
        default=None, description="A character of the space, muted or not; without one, whoever would speak next."
    )


class RegenerateIn(StrictModel):
    """What is to be regenerated."""

    message_id: UUID | None = Field(
        default=None,
        description="This reply alone; without one, the last, or the last turn where the space regenerates turns.",
    )


class QueueIn(StrictModel):
    """Who speaks next, and in which order."""

    round_id: UUID | None = Field(description="The round whose order it is; null to begin one where none goes on.")
    member_ids: Annotated[list[UUID], Field(max_length=MAX_SLOTS)] = Field(
        description="Those who speak in the turns that have not begun; a member may have several."
    )


class AutoModeIn(StrictModel):
    """How long characters answer each other."""

    rounds: int = Field(ge=0, le=MAX_ROUNDS, description="For so many rounds; 0 ends it behind the round that goes on.")


class CopilotIn(StrictModel):
    """How long a model writes for the person who asks."""

    steps: int = Field(ge=0, le=MAX_STEPS, description="So many messages; with 0 they write themselves again.")


class CandidatesIn(StrictModel):
    """How many suggestions."""

    count: int = Field(default=1, ge=1, le=MAX_CANDIDATES)


router = APIRouter(tags=["runs"])

RunId = Annotated[UUID, Path(description="The run.")]


@router.get("/conversations/{conversation_id}/turns", responses=documented())
async def show_turns(caller: ApiCaller, conversation_id: ConversationId) -> TurnsOut:
    """What goes on in a conversation: who writes, and who is next."""
    return _turns(caller.runtime, await read_turns(*caller, conversation_id))


@router.get("/conversations/{conversation_id}/runs", responses=documented())
async def list_of_runs(
    caller: ApiCaller, conversation_id: ConversationId, after: After = None, limit: Limit = 50
) -> Page[RunOut]:
    """The runs of a conversation, the newest first."""
    found = await list_runs(*caller, conversation_id, after=behind_time(after), limit=limit + 1)
    return page(
        found,
        limit,
        lambda run: RunOut.of(run, caller.runtime.live_text),
        lambda run: (moment(run.created_at), str(run.id)),
    )


@router.get("/runs/{run_id}", responses=documented())
async def show_run(caller: ApiCaller, run_id: RunId) -> RunOut:
    """One run, with what it has written so far."""
    return _run(caller.runtime, await read_run(*caller, run_id))


@router.post("/conversations/{conversation_id}/generate", status_code=202, responses=documented(409, 423))
async def generate_reply(
    caller: ApiCaller, conversation_id: ConversationId, body: Annotated[GenerateIn, Body(default_factory=GenerateIn)]
) -> RunOut:
    """Let a character speak now, muted or not; without one in particular, whoever would speak next."""
    return _run(caller.runtime, await force_talk(*caller, conversation_id, speaker_id=body.speaker_id))


@router.post("/conversations/{conversation_id}/continue", status_code=202, responses=documented(409, 423))
async def continue_last_reply(caller: ApiCaller, conversation_id: ConversationId) -> RunOut:
    """Let the last reply go on where it ends; the longer one becomes another version of it."""
    return _run(caller.runtime, await continue_reply(*caller, conversation_id))


@router.post("/conversations/{conversation_id}/impersonate", status_code=202, responses=documented(409, 423))
async def impersonate_user(caller: ApiCaller, conversation_id: ConversationId) -> RunOut:
    """Let a model write one's own next message, which is answered like any other."""
    return _run(caller.runtime, await impersonate(*caller, conversation_id))


@router.post("/conversations/{conversation_id}/regenerate", status_code=202, responses=documented(409))
async def regenerate_reply(
    caller: ApiCaller,
    conversation_id: ConversationId,
    body: Annotated[RegenerateIn, Body(default_factory=RegenerateIn)],
) -> RunOut:
    """Tell a reply anew, or the last one. Where something hangs on it, in a branch: the answer says in which
    conversation."""
    only_message = body.message_id is not None
    run = await regenerate(*caller, conversation_id, message_id=body.message_id, only_message=only_message)
    return _run(caller.runtime, run)


@router.post("/conversations/{conversation_id}/retry", status_code=202, responses=documented(409, 423))
async def retry_run(caller: ApiCaller, conversation_id: ConversationId) -> RunOut:
    """Ask the same speaker again for the reply that failed or was stopped, in the same turn."""
    return _run(caller.runtime, await retry(*caller, conversation_id))


@router.post("/runs/{run_id}/stop", responses=documented())
async def stop(caller: ApiCaller, run_id: RunId) -> RunOut:
    """Stop a run; its round pauses. What it has written can be kept or discarded. One that is over stays as it is."""
    return _run(caller.runtime, await request_stop(*caller, run_id))


@router.post("/runs/{run_id}/keep", responses=documented(409))
async def keep(caller: ApiCaller, run_id: RunId) -> MessageOut:
    """Make a message of what a stopped or failed run had written; its round goes on behind it."""
    message = await keep_text(*caller, run_id)
    async with caller.runtime.database.read() as session:
        return MessageOut.of(await shown_message(session, message.id))


@router.post("/runs/{run_id}/discard", responses=documented(409))
async def discard(caller: ApiCaller, run_id: RunId) -> RunOut:
    """Make nothing of a stopped or failed run; its round is over."""
    return _run(caller.runtime, await discard_text(*caller, run_id))


@router.post("/conversations/{conversation_id}/round/pause", responses=documented(409))
async def pause(caller: ApiCaller, conversation_id: ConversationId) -> TurnsOut:
    """Let nobody else begin; a reply that is being written is finished."""
    return _turns(caller.runtime, await pause_round(*caller, conversation_id))


@router.post("/conversations/{conversation_id}/round/resume", responses=documented(409))
async def resume(caller: ApiCaller, conversation_id: ConversationId) -> TurnsOut:
    """Go on with the turn that it is."""
    return _turns(caller.runtime, await resume_round(*caller, conversation_id))


@router.post("/conversations/{conversation_id}/round/skip", responses=documented(409))
async def skip(caller: ApiCaller, conversation_id: ConversationId) -> TurnsOut:
    """Pass over the turn that it is, and go on with the next."""
    return _turns(caller.runtime, await skip_turn(*caller, conversation_id))


@router.post("/conversations/{conversation_id}/round/stop", responses=documented(409))
async def end(caller: ApiCaller, conversation_id: ConversationId) -> TurnsOut:
    """End the round, and the reply that is being written, and let nothing go on by itself."""
    return _turns(caller.runtime, await stop_round(*caller, conversation_id))


@router.put("/conversations/{conversation_id}/round", responses=documented(409, 423))
async def choose_speakers(caller: ApiCaller, conversation_id: ConversationId, body: QueueIn) -> TurnsOut:
    """Say who speaks next, and in which order; who has begun to speak is not interrupted."""
    chosen = await choose_queue(*caller, conversation_id, round_id=body.round_id, member_ids=body.member_ids)
    return _turns(caller.runtime, chosen)


@router.put("/conversations/{conversation_id}/auto-mode", responses=documented(409))
async def change_auto_mode(caller: ApiCaller, conversation_id: ConversationId, body: AutoModeIn) -> TurnsOut:
    """Let characters answer each other for so many rounds; 0 ends it behind the round that goes on."""
    return _turns(caller.runtime, await set_auto_mode(*caller, conversation_id, rounds=body.rounds))


@router.put("/conversations/{conversation_id}/copilot", responses=documented(409))
async def change_copilot(caller: ApiCaller, conversation_id: ConversationId, body: CopilotIn) -> TurnsOut:
    """Let a model write so many of one's own next messages; with 0 one writes oneself again."""
    return _turns(caller.runtime, await set_copilot(*caller, conversation_id, steps=body.steps))


@router.post("/conversations/{conversation_id}/candidates", status_code=202, responses=documented(409))
async def suggest_replies(caller: ApiCaller, conversation_id: ConversationId, body: CandidatesIn) -> JobOut:
    """Have suggestions written for one's own next message. They come one by one as events for the person who asked,
    and are the job's result; none of them is sent."""
    return JobOut.of(await ask_candidates(*caller, conversation_id, count=body.count))


def _run(runtime: Runtime, run: Run) -> RunOut:
    return RunOut.of(run, runtime.live_text)


def _turns(runtime: Runtime, turns: Turns) -> TurnsOut:
    return TurnsOut.of(turns, runtime.live_text)
