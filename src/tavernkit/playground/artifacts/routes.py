"""The pages of artifacts: the tab beside the chat, and what one has been."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.artifacts.history import history_view
from tavernkit.playground.artifacts.presenting import history_address, state_view
from tavernkit.playground.artifacts.schemas import TAG_PATTERN
from tavernkit.playground.artifacts.service import reset_artifacts, restore_version
from tavernkit.playground.outcome import Refused
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.spaces.panel import panel_page, panel_refusal
from tavernkit.playground.web.rendering import render
from tavernkit.playground.web.requests import Looking, Played, refusal

__all__ = ["router"]

router = APIRouter(prefix="/conversations/{conversation_id}")

Tag = Annotated[str, Path(pattern=TAG_PATTERN)]
Number = Annotated[int, Form(ge=1, le=2**31 - 1)]
Based = Annotated[str, Form(pattern="^[0-9]{0,10}$")]
Before = Annotated[int | None, Query(ge=1, le=2**31 - 1)]

FASTER = (
    "Somebody was faster: there is a newer version now, the first one below. Nothing was restored. "
    "Look at it, and restore again if you still want to."
)


@router.get("/panel/state")
async def state(request: Request, runtime: Played, viewer: Looking, conversation_id: UUID) -> Response:
    view = await state_view(runtime, viewer, conversation_id)
    return panel_refusal(request, view) if isinstance(view, Refused) else panel_page(request, "state", view)


@router.get("/artifacts/{tag}")
async def history(
    request: Request, runtime: Played, viewer: Looking, conversation_id: UUID, tag: Tag, before: Before = None
) -> Response:
    return await _page(request, runtime, viewer, conversation_id, tag, before=before)


@router.post("/artifacts/{tag}/restore")
async def restore(
    request: Request,
    runtime: Played,
    viewer: Looking,
    conversation_id: UUID,
    tag: Tag,
    version: Number,
    based_on_version: Based = "",
) -> Response:
    """Write an earlier version again, unless there is a newer one than the page has shown."""
    base = int(based_on_version) if based_on_version else None
    outcome = await restore_version(runtime, viewer, conversation_id, tag, version=version, based_on_version=base)
    return await _answer(request, runtime, viewer, conversation_id, tag, outcome)


@router.post("/artifacts/{tag}/reset")
async def reset(request: Request, runtime: Played, viewer: Looking, conversation_id: UUID, tag: Tag) -> Response:
    """Put all versions into the archive and start again."""
    outcome = await reset_artifacts(runtime, viewer, conversation_id, [tag])
    return await _answer(request, runtime, viewer, conversation_id, tag, outcome)


async def _answer(
    request: Request, runtime: Runtime, viewer: Viewer, conversation_id: UUID, tag: str, outcome: object
) -> Response:
    if not isinstance(outcome, Refused):
        return RedirectResponse(history_address(conversation_id, tag), status_code=303)
    if outcome.code == "stale":
        outcome = outcome.with_(sentence=FASTER)
    return await _page(request, runtime, viewer, conversation_id, tag, refused=outcome)


async def _page(
    request: Request,
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    tag: str,
    *,
    before: int | None = None,
    refused: Refused | None = None,
) -> Response:
    """The history as it is now; where something was refused, with the sentence about it."""
    problem = refused.sentence if refused else ""
    view = await history_view(runtime, viewer, conversation_id, tag, before=before, problem=problem)
    if isinstance(view, Refused):
        return refusal(request, view)
    html = str(render("artifact_history.html", view=view))
    return HTMLResponse(html, refused.status if refused else 200, {"Cache-Control": "no-store"})
