"""Trying a profile from its editor, and running what is followed from the chat."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.dry_runs import TRIGGERS, dry_run_form, dry_run_view
from tavernkit.playground.edge.web.forms import page, understood
from tavernkit.playground.edge.web.requests import (
    Caller,
    PageCaller,
    ToastView,
    answer,
    replaced,
    streamed,
    toast_stream,
)
from tavernkit.playground.story.dry_runs.dry_run import ask_dry_run
from tavernkit.playground.story.dry_runs.manual import run_pipelines
from tavernkit.playground.story.pipelines.checking import check_text
from tavernkit.playground.story.pipelines.reports import DryRun
from tavernkit.values import Json

router = APIRouter()


class DryRunForm(BaseModel):
    """What to try, and on which conversation."""

    conversation_id: UUID | Literal[""] = ""
    trigger: PipelineTrigger = "user_message"
    with_reply: bool = False
    content: str = ""


@router.get("/pipelines/{profile_id}/dry_run")
async def show_form(
    caller: PageCaller, profile_id: UUID, conversation: Annotated[UUID | None, Query()] = None
) -> Response:
    """The form: a page, and the content of the frame in the editor."""
    form = await dry_run_form(*caller, profile_id, chosen=conversation)
    return page("dry_run.html", form=form, view=None, triggers=TRIGGERS)


@router.post("/pipelines/{profile_id}/dry_run")
async def begin(caller: PageCaller, profile_id: UUID, given: Annotated[DryRunForm, Form()]) -> Response:
    """Try what is in the editor, or without that, what is saved."""
    try:
        job_id = await _begun(caller, profile_id, given)
    except Refused as refused:
        chosen, typed = given.conversation_id or None, given.model_dump(include={"trigger", "with_reply"})
        form = await dry_run_form(*caller, profile_id, chosen=chosen, **typed, problem=refused.sentence)
        return page("dry_run.html", refused, form=form, view=None, triggers=TRIGGERS)
    return RedirectResponse(f"/pipelines/{profile_id}/dry_run/{job_id}", status_code=303)


@router.get("/pipelines/{profile_id}/dry_run/{job_id}")
async def show(caller: PageCaller, profile_id: UUID, job_id: UUID) -> Response:
    """How far it has come, or what came of it."""
    view = await dry_run_view(*caller, profile_id, job_id)
    return page("dry_run.html", form=view.form, view=view, triggers=TRIGGERS)


@router.get("/pipelines/{profile_id}/dry_run/{job_id}/progress")
async def progress(caller: PageCaller, profile_id: UUID, job_id: UUID) -> Response:
    """The same as a Turbo stream, for a page that asks again and again."""
    view = await dry_run_view(*caller, profile_id, job_id)
    return streamed(replaced("dry_run_state", "_dry_run_state.html", morph=True, view=view))


@router.post("/pipelines/{profile_id}/dry_run/{job_id}/stop")
async def stop(caller: PageCaller, profile_id: UUID, job_id: UUID) -> Response:
    await dry_run_view(*caller, profile_id, job_id)
    await request_cancel(*caller, job_id)
    return RedirectResponse(f"/pipelines/{profile_id}/dry_run/{job_id}", status_code=303)


@router.post("/conversations/{conversation_id}/pipelines/run")
async def run_now(
    caller: PageCaller, conversation_id: UUID, request_id: Annotated[UUID | None, Form()] = None
) -> Response:
    """Run the pipelines that have the trigger `manual`, once."""
    await run_pipelines(*caller, conversation_id, trigger="manual", request_id=request_id or caller.runtime.ids())
    toast = ToastView(sentence=_("The pipelines are running. Their results appear automatically."))
    return answer(caller.request, toast_stream(toast), otherwise=f"/conversations/{conversation_id}?panel=state")


async def _begun(caller: Caller, profile_id: UUID, given: DryRunForm) -> UUID:
    """The job of the dry run."""
    if not given.conversation_id:
        raise Refused("invalid", _("Choose a story."))
    content: dict[str, Json] | None = None
    if given.content.strip():
        checked = await check_text(given.content, caller.runtime.functions)
        if checked.content is None or checked.errors:
            first = checked.errors[0]
            reason = f"{first.path}: {first.message}" if first.path else first.message
            raise Refused("invalid", _("The profile in the editor has an error. {reason}", reason=reason))
        content = dict(checked.content)
    asked = understood(DryRun, **{**dict(given), "content": content})
    job = await ask_dry_run(*caller, profile_id, asked)
    return job.id
