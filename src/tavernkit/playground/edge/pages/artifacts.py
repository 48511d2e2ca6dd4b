"""The pages of artifacts and chat variables: the tab beside the chat, and what an artifact has been."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.artifacts import TAG_PATTERN
from tavernkit.playground.edge.presenting.artifact_history import history_view
from tavernkit.playground.edge.presenting.artifacts import state_view
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_answer, panel_page
from tavernkit.playground.edge.web.forms import Flag, Text, fresh_page, one_newline, refusal_of
from tavernkit.playground.edge.web.requests import Caller, PageCaller, Visitor
from tavernkit.playground.story.artifacts.service import reset_artifacts, restore_version
from tavernkit.playground.story.paths.variables import MAX_NAME_CHARACTERS, delete_variable, set_variable
from tavernkit.values import Json

router = APIRouter(prefix="/conversations/{conversation_id}")

Tag = Annotated[str, Path(pattern=TAG_PATTERN)]
Number = Annotated[int, Form(ge=1, le=2**31 - 1)]
Based = Annotated[str, Form(pattern="^[0-9]{0,10}$")]
Before = Annotated[int | None, Query(ge=1, le=2**31 - 1)]

Name = Annotated[str, Form(max_length=MAX_NAME_CHARACTERS)]
NOTHING_TYPED: Mapping[str, str] = {}

FASTER = _("There is a newer version now, the first one below, so nothing was restored. Check it, then restore again.")


@router.get("/panel/state")
async def state(caller: PageCaller, conversation_id: UUID) -> Response:
    return panel_page(caller.request, "state", await state_view(*caller, conversation_id))


@router.post("/panel/state/variables", dependencies=IN_PANEL)
async def set_chat_variable(
    caller: PageCaller, conversation_id: UUID, name: Name, value: Text = "", is_json: Flag = False, was: Text = ""
) -> Response:
    """Set a chat variable that is as it was shown; an empty `was` is for a new one."""
    chosen = name if was else name.strip()

    async def save() -> None:
        if not chosen:
            raise Refused("blank", _("Enter a name for the variable."))
        await set_variable(*caller, conversation_id, chosen, _value(value, is_json=is_json), was=was)

    return await _tab_after(caller, conversation_id, save(), typed={chosen: one_newline(value)} if was else {})


@router.post("/panel/state/variables/delete", dependencies=IN_PANEL)
async def delete_chat_variable(caller: PageCaller, conversation_id: UUID, name: Name, was: Text = "") -> Response:
    deleting = delete_variable(*caller, conversation_id, name, was=was)
    return await _tab_after(caller, conversation_id, deleting)


def _value(text: str, *, is_json: bool) -> Json:
    """What was typed: a text, or the JSON that it is."""
    if not is_json:
        return one_newline(text)
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused("invalid", _("The value is not valid JSON. Correct it, or save it as text.")) from None
    return value


async def _tab_after(
    caller: Visitor, conversation_id: UUID, action: Awaitable[object], *, typed: Mapping[str, str] = NOTHING_TYPED
) -> Response:
    """Do it, and show the tab as it is then; where it was refused, with the sentence and what was typed."""
    refused = await refusal_of(action)
    problem = refused.sentence if refused else ""
    view = await state_view(*caller, conversation_id, problem=problem, typed=typed if refused else NOTHING_TYPED)
    address = f"/conversations/{conversation_id}/panel/state"
    return panel_answer(caller.request, "state", view, otherwise=address, refused=refused)


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
