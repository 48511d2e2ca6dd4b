"""Trying a change on the last turns of a conversation."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.what_if import (
    USUAL_TURNS,
    changed_prompt_view,
    what_if_form,
    what_if_view,
)
from tavernkit.playground.edge.web.forms import page
from tavernkit.playground.edge.web.requests import PageCaller, replaced, streamed
from tavernkit.playground.story.replaying.changes import WhatIf
from tavernkit.playground.story.replaying.what_if import MOST_TURNS, ask_what_if
from tavernkit.prompt.what_if import read_settings

router = APIRouter()


class TypedChange(BaseModel):
    """The form: settings line by line, another preset, and how many turns."""

    settings: str = ""
    preset_id: UUID | Literal[""] = ""
    last: int = USUAL_TURNS


@router.get("/conversations/{conversation_id}/what-if")
async def show_form(caller: PageCaller, conversation_id: UUID) -> Response:
    """What can be tried."""
    return page("what_if.html", form=await what_if_form(*caller, conversation_id), view=None, most=MOST_TURNS)


@router.post("/conversations/{conversation_id}/what-if")
async def begin(caller: PageCaller, conversation_id: UUID, given: Annotated[TypedChange, Form()]) -> Response:
    """Have the last turns built again."""
    chosen = given.preset_id or None
    try:
        change = WhatIf(settings=_settings(given.settings), preset_id=chosen)
        job = await ask_what_if(*caller, conversation_id, change, last=min(max(given.last, 1), MOST_TURNS))
    except Refused as refused:
        form = await what_if_form(
            *caller,
            conversation_id,
            settings=given.settings,
            preset_id=chosen,
            last=given.last,
            problem=refused.sentence,
        )
        return page("what_if.html", refused, form=form, view=None, most=MOST_TURNS)
    return RedirectResponse(f"/conversations/{conversation_id}/what-if/{job.id}", status_code=303)


@router.get("/conversations/{conversation_id}/what-if/{job_id}")
async def show(caller: PageCaller, conversation_id: UUID, job_id: UUID) -> Response:
    """How far it has come, or what came of it."""
    view = await what_if_view(*caller, conversation_id, job_id)
    return page("what_if.html", form=view.form, view=view, most=MOST_TURNS)


@router.get("/conversations/{conversation_id}/what-if/{job_id}/progress")
async def progress(caller: PageCaller, conversation_id: UUID, job_id: UUID) -> Response:
    """The same as a Turbo stream, for a page that asks again and again."""
    view = await what_if_view(*caller, conversation_id, job_id)
    return streamed(replaced("what_if_state", "_what_if_state.html", morph=True, view=view))


@router.post("/conversations/{conversation_id}/what-if/{job_id}/stop")
async def stop(caller: PageCaller, conversation_id: UUID, job_id: UUID) -> Response:
    await what_if_view(*caller, conversation_id, job_id)
    await request_cancel(*caller, job_id)
    return RedirectResponse(f"/conversations/{conversation_id}/what-if/{job_id}", status_code=303)


@router.get("/conversations/{conversation_id}/what-if/{job_id}/runs/{run_id}")
async def show_prompt(caller: PageCaller, conversation_id: UUID, job_id: UUID, run_id: UUID) -> Response:
    """The prompt of one turn with what was tried."""
    return page("preview.html", view=await changed_prompt_view(*caller, conversation_id, job_id, run_id))


def _settings(typed: str) -> dict[str, dict[str, object]]:
    try:
        return read_settings(line for line in typed.splitlines() if line.strip())
    except ValueError:
        raise Refused("invalid", _("Write each setting on a line of its own, as world_info.depth=5.")) from None
