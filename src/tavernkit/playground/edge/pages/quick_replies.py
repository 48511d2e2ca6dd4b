"""The pages about quick replies: the list of sets, a set with its buttons, one button; and what a button says."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.presenting.imports import origins_view
from tavernkit.playground.edge.views.quick_replies import (
    BUTTON_LABELS,
    SET_LABELS,
    ButtonForm,
    SetForm,
    button_form,
    differences,
    set_form,
    set_view,
    sets_view,
)
from tavernkit.playground.edge.web.forms import Flag, Text, Version, page, saved_streams, understood
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, answer, replaced
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.quick_replies import service
from tavernkit.playground.story.quick_replies.documents import (
    MAX_MESSAGE,
    ButtonFields,
    ButtonOut,
    NewPlace,
    NewQuickReplySet,
    PatchButton,
    PatchQuickReplySet,
    QuickReplyPlace,
    buttons_in,
)
from tavernkit.playground.story.quick_replies.expanding import expand_quick_reply
from tavernkit.playground.story.quick_replies.files import MAX_FILE_BYTES
from tavernkit.playground.story.quick_replies.queries import set_for

router = APIRouter()

ButtonId = Annotated[int, Path(ge=0, le=2**31 - 1)]


class SeenSetForm(SetForm):
    """The form of a set, and the version that it was filled in from."""

    settings_version: int = Field(ge=0, le=2**31 - 1)


class SeenButtonForm(ButtonForm):
    """The form of a button, and the version of the set that it was filled in from."""

    settings_version: int = Field(ge=0, le=2**31 - 1)


@router.get("/quick-replies")
async def sets(caller: PageCaller, after: After = None) -> HTMLResponse:
    return page("quick_replies/index.html", view=await sets_view(*caller, after), typed="")


@router.post("/quick-replies")
async def create(caller: PageCaller, name: Text) -> Response:
    try:
        made = await service.create_set(*caller, understood(NewQuickReplySet, name=name.strip()))
    except Refused as refused:
        return page("quick_replies/index.html", refused, view=await sets_view(*caller), typed=name)
    return RedirectResponse(f"/quick-replies/{made.id}", status_code=303)


@router.post("/quick-replies/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller) -> Response:
    async def import_one(data: bytes, name: str) -> ImportedItem:
        row, report = await service.import_set(*caller, data, name=name)
        return ImportedItem(name=row.name, address=f"/quick-replies/{row.id}", report=report)

    outcomes = await take_in(caller.request, import_one, max_bytes=MAX_FILE_BYTES)
    library = render("quick_replies/_library.html", view=await sets_view(*caller))
    return imported_answer(caller.request, outcomes, library, otherwise="/quick-replies")


@router.get("/quick-replies/{set_id}")
async def show(caller: PageCaller, set_id: UUID, search: Annotated[str, Query(max_length=200)] = "") -> Response:
    return await _set_page(caller, set_id, search=search)


@router.post("/quick-replies/{set_id}")
async def change(caller: PageCaller, set_id: UUID, given: Annotated[SeenSetForm, Form()]) -> Response:
    form = SetForm(**given.model_dump(exclude={"settings_version"}))
    try:
        patch = understood(PatchQuickReplySet, settings_version=given.settings_version, **form.fields())
        row = await service.update_set(*caller, set_id, patch)
    except Refused as refused:
        return await _set_page(caller, set_id, form=form, refused=refused)
    streams = saved_streams("settings_version", row.settings_version, row.updated_at)
    return answer(caller.request, streams, otherwise=f"/quick-replies/{set_id}")


@router.post("/quick-replies/{set_id}/delete")
async def delete(caller: PageCaller, set_id: UUID) -> Response:
    await service.delete_set(*caller, set_id)
    return await back_from_deleting(caller.runtime, "quick_reply_set", set_id, "/quick-replies")


@router.post("/quick-replies/{set_id}/duplicate")
async def duplicate(caller: PageCaller, set_id: UUID) -> Response:
    copy = await service.duplicate_set(*caller, set_id)
    return RedirectResponse(f"/quick-replies/{copy.id}", status_code=303)


@router.post("/quick-replies/{set_id}/enabled")
async def switch(caller: PageCaller, set_id: UUID, enabled: Flag, listed: Annotated[bool, Form()] = False) -> Response:
    """Use the set in all stories of its owner, or no more; `listed` says that the switch stands in the list."""
    if enabled:
        await service.use_set(*caller, set_id, NewPlace())
    else:
        await service.disuse_set(*caller, set_id, QuickReplyPlace())
    return RedirectResponse("/quick-replies" if listed else f"/quick-replies/{set_id}#places", status_code=303)


@router.post("/quick-replies/{set_id}/places")
async def use(
    caller: PageCaller,
    set_id: UUID,
    space_id: Annotated[UUID | None, Form()] = None,
    character_id: Annotated[UUID | None, Form()] = None,
) -> Response:
    if space_id is None and character_id is None:
        raise Refused("invalid", _("Choose a space or a character."))
    await service.use_set(*caller, set_id, understood(NewPlace, space_id=space_id, character_id=character_id))
    return RedirectResponse(f"/quick-replies/{set_id}#places", status_code=303)


@router.post("/quick-replies/{set_id}/places/remove")
async def disuse(
    caller: PageCaller,
    set_id: UUID,
    space_id: Annotated[UUID | None, Form()] = None,
    character_id: Annotated[UUID | None, Form()] = None,
) -> Response:
    await service.disuse_set(*caller, set_id, understood(QuickReplyPlace, space_id=space_id, character_id=character_id))
    return RedirectResponse(f"/quick-replies/{set_id}#places", status_code=303)


@router.get("/quick-replies/{set_id}/buttons/new")
async def new_button(caller: PageCaller, set_id: UUID) -> Response:
    return await _button_page(caller, set_id)


@router.post("/quick-replies/{set_id}/buttons")
async def add_button(caller: PageCaller, set_id: UUID, form: Annotated[ButtonForm, Form()]) -> Response:
    try:
        await service.add_button(*caller, set_id, understood(ButtonFields, **form.fields()))
    except Refused as refused:
        return await _button_page(caller, set_id, form=form, refused=refused)
    return RedirectResponse(f"/quick-replies/{set_id}", status_code=303)


@router.post("/quick-replies/{set_id}/buttons/move")
async def move_button(
    caller: PageCaller, set_id: UUID, moved: Annotated[int, Form()], before: Annotated[str, Form()] = ""
) -> Response:
    """Put a button before another one, or behind all."""
    row = await service.move_button(*caller, set_id, moved, before=int(before) if before.isdecimal() else None)
    streams = saved_streams("settings_version", row.settings_version)
    return answer(caller.request, streams, otherwise=f"/quick-replies/{set_id}")


@router.get("/quick-replies/{set_id}/buttons/{button_id}")
async def show_button(caller: PageCaller, set_id: UUID, button_id: ButtonId) -> Response:
    return await _button_page(caller, set_id, button_id)


@router.post("/quick-replies/{set_id}/buttons/{button_id}")
async def change_button(
    caller: PageCaller, set_id: UUID, button_id: ButtonId, given: Annotated[SeenButtonForm, Form()]
) -> Response:
    form = ButtonForm(**given.model_dump(exclude={"settings_version"}))
    try:
        patch = understood(PatchButton, settings_version=given.settings_version, **form.fields())
        row = await service.update_button(*caller, set_id, button_id, patch)
    except Refused as refused:
        return await _button_page(caller, set_id, button_id, form=form, refused=refused)
    streams = saved_streams("settings_version", row.settings_version, row.updated_at)
    button = next(one for one in buttons_in(row.data) if one.id == button_id)
    streams += replaced("script_note", "quick_replies/_script_note.html", button=button)
    return answer(caller.request, streams, otherwise=f"/quick-replies/{set_id}/buttons/{button_id}")


@router.post("/quick-replies/{set_id}/buttons/{button_id}/duplicate")
async def duplicate_button(caller: PageCaller, set_id: UUID, button_id: ButtonId) -> Response:
    _row, copy = await service.duplicate_button(*caller, set_id, button_id)
    return RedirectResponse(f"/quick-replies/{set_id}/buttons/{copy}", status_code=303)


@router.post("/quick-replies/{set_id}/buttons/{button_id}/delete")
async def delete_button(caller: PageCaller, set_id: UUID, button_id: ButtonId, settings_version: Version) -> Response:
    try:
        await service.remove_button(*caller, set_id, button_id, settings_version=settings_version)
    except Refused as refused:
        return await _button_page(caller, set_id, button_id, refused=refused)
    return RedirectResponse(f"/quick-replies/{set_id}", status_code=303)


@router.post("/conversations/{conversation_id}/quick-replies/{set_id}/{button_id}")
async def expand(
    caller: PageCaller,
    conversation_id: UUID,
    set_id: UUID,
    button_id: ButtonId,
    typed: Annotated[str, Form(max_length=MAX_MESSAGE, alias="input")] = "",
) -> dict[str, str | bool]:
    """What the button says here, for the script of the page."""
    said = await expand_quick_reply(*caller, conversation_id, set_id, button_id, typed=typed)
    return {"text": said.text, "send": said.send, "uses_input": said.uses_input}


async def _set_page(
    caller: Caller, set_id: UUID, *, search: str = "", form: SetForm | None = None, refused: Refused | None = None
) -> Response:
    """A set as it is now; `form` is what somebody has typed, and it stays."""
    view = await set_view(*caller, set_id, search=search)
    stored = set_form(view.row)
    shown = form or stored
    was_changed = refused is not None and refused.code == "stale"
    return page(
        "quick_replies/set.html",
        refused,
        view=view,
        form=shown,
        differences=differences(shown, stored, SET_LABELS) if was_changed else (),
        labels=SET_LABELS,
        origins=await origins_view(*caller, "quick_replies", set_id),
    )


async def _button_page(
    caller: Caller,
    set_id: UUID,
    button_id: int | None = None,
    *,
    form: ButtonForm | None = None,
    refused: Refused | None = None,
) -> Response:
    """The form of a button, or of one that is yet to be made; `form` is what somebody has typed, and it stays."""
    row = await caller.read(set_for, set_id)
    button: ButtonOut | None = None
    if button_id is not None:
        button = next((one for one in buttons_in(row.data) if one.id == button_id), None)
        if button is None:
            raise not_found(_("button"))
    stored = button_form(button or ButtonFields())
    shown = form or stored
    was_changed = button is not None and refused is not None and refused.code == "stale"
    return page(
        "quick_replies/button.html",
        refused,
        row=row,
        button=button,
        form=shown,
        differences=differences(shown, stored, BUTTON_LABELS) if was_changed else (),
        labels=BUTTON_LABELS,
    )
