"""Taking turns from the chat page: the group bar, its editor, what goes on by itself, suggestions and the preview."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Response
from markupsafe import Markup

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.api.runs import MAX_SLOTS
from tavernkit.playground.edge.pages.runs import run_answer
from tavernkit.playground.edge.presenting.runs import (
    CandidatesView,
    RoundView,
    candidates_view,
    copilot_steps,
    round_view,
)
from tavernkit.playground.edge.web.forms import Text, fresh_page, whole_number
from tavernkit.playground.edge.web.requests import (
    Caller,
    PageCaller,
    answer,
    missing,
    replaced,
    streamed,
    wants_streams,
)
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.replies.actions import CANDIDATES_KIND, MAX_CANDIDATES, ask_candidates, retry
from tavernkit.playground.story.runs.requests import force_talk
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

router = APIRouter(prefix="/conversations/{conversation_id}")

Number = Text


def _turning(action: Callable[[Runtime, Viewer, UUID], Awaitable[object]]) -> Callable[..., Awaitable[Response]]:
    """A route that does something with the turns of a conversation, and shows how it goes on."""

    async def turn(caller: PageCaller, conversation_id: UUID) -> Response:
        await action(*caller, conversation_id)
        return await run_answer(caller, conversation_id)

    return turn


router.post("/round/pause", name="pause")(_turning(pause_round))
router.post("/round/resume", name="resume")(_turning(resume_round))
router.post("/round/skip", name="skip")(_turning(skip_turn))
router.post("/round/stop", name="stop")(_turning(stop_round))
router.post("/skip", name="skip")(_turning(skip_turn))
router.post("/retry", name="retry_reply")(_turning(retry))


@router.post("/generate")
async def generate(
    caller: PageCaller, conversation_id: UUID, speaker_id: Annotated[UUID | None, Form()] = None
) -> Response:
    """Let somebody speak, or whoever would speak next."""
    await force_talk(*caller, conversation_id, speaker_id=speaker_id)
    return await run_answer(caller, conversation_id)


@router.post("/auto-mode")
async def auto_mode(caller: PageCaller, conversation_id: UUID, rounds: Number) -> Response:
    number = whole_number(rounds, name=_("Number of rounds"), least=0, most=MAX_ROUNDS)
    await set_auto_mode(*caller, conversation_id, rounds=number)
    return await run_answer(caller, conversation_id)


@router.get("/round")
async def show_round(caller: PageCaller, conversation_id: UUID) -> Response:
    """Who is to speak, to be changed: a page, and the content of the dialog."""
    return fresh_page("round.html", view=await _round(caller, conversation_id))


@router.post("/round")
async def change_round(
    caller: PageCaller, conversation_id: UUID, round_id: Text = "", member: Annotated[list[str] | None, Form()] = None
) -> Response:
    """Let these speak next; a place where nobody is chosen is none."""
    try:
        seen = UUID(round_id) if round_id else None
        chosen = [UUID(id) for id in member or () if id]
    except ValueError:
        raise Refused("invalid", _("This reply order cannot be read. Reload the page.")) from None
    if len(chosen) > MAX_SLOTS:
        raise Refused("invalid", _("A round has at most {limit} turns.", limit=MAX_SLOTS))
    try:
        await choose_queue(*caller, conversation_id, round_id=seen, member_ids=chosen)
    except Refused as refused:
        view = await _round(caller, conversation_id, refused=refused, chosen=chosen)
        if wants_streams(caller.request):
            return streamed(replaced("round_editor", "_round_editor.html", view=view), refused.status)
        return fresh_page("round.html", refused, view=view)
    return await run_answer(caller, conversation_id)


@router.get("/copilot")
async def show_copilot(caller: PageCaller, conversation_id: UUID) -> Response:
    """For how many messages a model goes on to write for this person; the frame that the page asks for."""
    async with caller.runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, caller.viewer, Access.READ)
        steps = copilot_steps(conversation, access.member)
    return fresh_page("_copilot.html", conversation_id=conversation_id, steps=steps)


@router.post("/copilot")
async def copilot(caller: PageCaller, conversation_id: UUID, steps: Number) -> Response:
    number = whole_number(steps, name=_("Number of messages"), least=0, most=MAX_STEPS)
    await set_copilot(*caller, conversation_id, steps=number)
    also = replaced("copilot", "_copilot.html", conversation_id=conversation_id, steps=number)
    return await run_answer(caller, conversation_id, also)


@router.post("/candidates")
async def suggest(caller: PageCaller, conversation_id: UUID, count: Number = "1") -> Response:
    number = whole_number(count, name=_("Number of suggestions"), least=1, most=MAX_CANDIDATES)
    job = await ask_candidates(*caller, conversation_id, count=number)
    streams = _candidates(candidates_view(conversation_id, job))
    return answer(caller.request, streams, otherwise=f"/conversations/{conversation_id}/candidates/{job.id}")


@router.get("/candidates/{job_id}")
async def show_candidates(caller: PageCaller, conversation_id: UUID, job_id: UUID) -> Response:
    """The suggestions; a page that waits for them is answered with nothing while there are more to come."""
    async with caller.runtime.database.read() as session:
        job = await find_job(session, job_id, caller.viewer)
    if job is None or not _is_of(job, conversation_id):
        raise missing()
    view = candidates_view(conversation_id, job)
    if not wants_streams(caller.request):
        return fresh_page("candidates.html", view=view)
    if not view.is_over:
        return Response(status_code=204)
    return streamed(_candidates(view))


async def _round(
    caller: Caller, conversation_id: UUID, *, refused: Refused | None = None, chosen: Sequence[UUID] = ()
) -> RoundView:
    async with caller.runtime.database.read() as session:
        conversation, _access = await conversation_for(session, conversation_id, caller.viewer, Access.TAKE_PART)
        view = await round_view(session, conversation)
    if refused is None:
        return view
    if refused.code != "stale":
        return view.with_(notice=refused.sentence)
    names = {speaker.id: speaker.name for speaker in view.speakers}
    unknown = translated(_("an unavailable speaker"))
    speakers = ", ".join(names.get(str(id), unknown) for id in chosen) or _("nobody")
    return view.with_(
        notice=_(
            "The round has changed in the meantime. Its current order is below; you chose: {names}.", names=speakers
        )
    )


def _is_of(job: Job, conversation_id: UUID) -> bool:
    return job.kind == CANDIDATES_KIND and job.payload.get("conversation_id") == str(conversation_id)


def _candidates(view: CandidatesView) -> Markup:
    return replaced("candidates", "_candidates.html", view=view)
