"""The inspector of a prompt: that of a run, and the one that would be sent next."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.inspector import SEPARATOR, InspectorTab, PlaceView, run_place, toggled
from tavernkit.playground.edge.presenting.preview_page import (
    PREVIEW_TABS,
    PreviewChoice,
    preview_page_view,
    preview_place,
    traced_preview,
)
from tavernkit.playground.edge.presenting.prompt_preview import preview_view
from tavernkit.playground.edge.presenting.run_records import run_page_view, traced_message
from tavernkit.playground.edge.presenting.traced_text import TracedView
from tavernkit.playground.edge.web.forms import fresh_page
from tavernkit.playground.edge.web.requests import PageCaller
from tavernkit.playground.story.previews.inspecting import run_of_message
from tavernkit.playground.story.previews.service import PreviewKind

router = APIRouter()

MOST_OFF = 200
MOST_CHARACTERS = 500

Id = Annotated[str, Query(max_length=MOST_CHARACTERS)]
Number = Annotated[int, Query(ge=0, le=10**9)]
Place = Annotated[int, Path(ge=0, le=10**9)]
With = Annotated[UUID | None, Query(alias="with")]


def _off(off: Annotated[list[Id] | None, Query(max_length=MOST_OFF)] = None) -> tuple[str, ...]:
    return tuple(off or ())


Off = Annotated[tuple[str, ...], Depends(_off)]
Toggle = Annotated[str, Query(max_length=10 * MOST_CHARACTERS)]


def _choice(off: Off, speaker: UUID | None = None, kind: PreviewKind | None = None) -> PreviewChoice:
    return PreviewChoice(speaker=speaker, kind=kind, off=off)


Choice = Annotated[PreviewChoice, Depends(_choice)]


@router.get("/runs/{run_id}")
async def show_run(
    caller: PageCaller, run_id: UUID, off: Off, tab: InspectorTab = "plan", toggle: Toggle = "", other: With = None
) -> Response:
    """A tab of the inspector of a run."""
    if toggle:
        return _switched(run_place(run_id, off=_toggled(off, toggle)))
    view = await run_page_view(*caller, run_id, tab, off=off, other=other)
    return fresh_page("inspector/run.html", view=view)


@router.get("/runs/{run_id}/messages/{number}")
async def show_message_of_run(caller: PageCaller, run_id: UUID, off: Off, number: Place, start: Number = 0) -> Response:
    """A part of a message of its prompt, for the page that has it folded."""
    traced = await traced_message(*caller, run_id, off, number, start)
    return _traced(run_place(run_id, off=off), number, start, traced)


@router.get("/conversations/{conversation_id}/preview")
async def show_preview(
    caller: PageCaller,
    conversation_id: UUID,
    choice: Choice,
    tab: InspectorTab = "plan",
    toggle: Toggle = "",
    other: With = None,
    turbo_frame: Annotated[str, Header()] = "",
) -> Response:
    """The prompt that would be sent now: in the inspector, and in short as the content of the dialog."""
    if toggle:
        return _switched(preview_place(conversation_id, choice.with_(off=_toggled(choice.off, toggle))))
    try:
        if turbo_frame == "preview":
            view = await preview_view(*caller, conversation_id, speaker_id=choice.speaker, kind=choice.kind)
            return fresh_page("preview.html", view=view)
        tab = tab if tab in PREVIEW_TABS else "plan"
        shown = await preview_page_view(*caller, conversation_id, choice, tab, other)
    except Refused as refused:
        if refused.status == 404:
            raise
        return fresh_page("preview.html", refused, view=refused)
    return fresh_page("inspector/preview.html", view=shown)


@router.get("/conversations/{conversation_id}/preview/messages/{number}")
async def show_message_of_preview(
    caller: PageCaller, conversation_id: UUID, choice: Choice, number: Place, start: Number = 0
) -> Response:
    """A part of a message of that prompt."""
    traced = await traced_preview(*caller, conversation_id, choice, number, start)
    return _traced(preview_place(conversation_id, choice), number, start, traced)


@router.get("/messages/{message_id}/inspect")
async def inspect_message(caller: PageCaller, message_id: UUID) -> Response:
    """The prompt that a message was written with; of one that no model wrote, the first that it stands in, or the next
    one."""
    found = await caller.read(run_of_message, message_id)
    address = f"/conversations/{found.conversation_id}/preview" if found.run_id is None else f"/runs/{found.run_id}"
    return RedirectResponse(address, status_code=303)


def _toggled(off: tuple[str, ...], toggle: str) -> tuple[str, ...]:
    return toggled(off, toggle.split(SEPARATOR))


def _switched(place: PlaceView) -> Response:
    return RedirectResponse(place.address(), status_code=303)


def _traced(place: PlaceView, number: int, start: int, traced: TracedView) -> Response:
    following = "" if traced.following is None else place.message(number, traced.following)
    view = {"address": place.address(), "number": number, "start": start, "traced": traced, "following": following}
    return fresh_page("inspector/message.html", view=view)
