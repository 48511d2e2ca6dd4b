"""The pages of artifacts: the tab beside the chat, and what one has been."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.artifacts import TAG_PATTERN
from tavernkit.playground.edge.presenting.artifact_history import history_view
from tavernkit.playground.edge.presenting.artifacts import state_view
from tavernkit.playground.edge.presenting.panel import panel_page
from tavernkit.playground.edge.web.forms import fresh_page
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.story.artifacts.service import reset_artifacts, restore_version

router = APIRouter(prefix="/conversations/{conversation_id}")

Tag = Annotated[str, Path(pattern=TAG_PATTERN)]
Number = Annotated[int, Form(ge=1, le=2**31 - 1)]
Based = Annotated[str, Form(pattern="^[0-9]{0,10}$")]
Before = Annotated[int | None, Query(ge=1, le=2**31 - 1)]

FASTER = _("There is a newer version now, the first one below, so nothing was restored. Check it, then restore again.")


@router.get("/panel/state")
async def state(caller: PageCaller, conversation_id: UUID) -> Response:
    return panel_page(caller.request, "state", await state_view(*caller, conversation_id))


@router.get("/artifacts/{tag}")
async def history(caller: PageCaller, conversation_id: UUID, tag: Tag, before: Before = None) -> Response:
    return await _page(caller, conversation_id, tag, before=before)


@router.post("/artifacts/{tag}/restore")
async def restore(
    caller: PageCaller, conversation_id: UUID, tag: Tag, version: Number, based_on_version: Based = ""
) -> Response:
    """Write an earlier version again, unless there is a newer one than the page has shown."""
    base = int(based_on_version) if based_on_version else None
    try:
        await restore_version(*caller, conversation_id, tag, version=version, based_on_version=base)
    except Refused as refused:
        return await _page(caller, conversation_id, tag, refused=refused)
    return RedirectResponse(f"/conversations/{conversation_id}/artifacts/{tag}", status_code=303)


@router.post("/artifacts/{tag}/reset")
async def reset(caller: PageCaller, conversation_id: UUID, tag: Tag) -> Response:
    """Put all versions into the archive and start again."""
    try:
        await reset_artifacts(*caller, conversation_id, [tag])
    except Refused as refused:
        return await _page(caller, conversation_id, tag, refused=refused)
    return RedirectResponse(f"/conversations/{conversation_id}/artifacts/{tag}", status_code=303)


async def _page(
    caller: Caller, conversation_id: UUID, tag: str, *, before: int | None = None, refused: Refused | None = None
) -> Response:
    """The history as it is now; where something was refused, with the sentence about it."""
    problem = "" if refused is None else FASTER if refused.code == "stale" else refused.sentence
    view = await history_view(*caller, conversation_id, tag, before=before, problem=problem)
    return fresh_page("artifact_history.html", refused, view=view)
