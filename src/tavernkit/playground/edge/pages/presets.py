"""The pages about presets: the list, and one preset with its prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.views.presets import preset_view, presets_view
from tavernkit.playground.edge.web.forms import (
    Direction,
    Flag,
    Text,
    Version,
    one_newline,
    page,
    saved_streams,
    understood,
)
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, Visitor, answer, replaced
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.presets import service
from tavernkit.playground.story.presets.documents import OrderPrompts, PatchPreset, PatchPrompt
from tavernkit.sillytavern.presets import ChatPreset

router = APIRouter()

Identifier = Annotated[str, Form(max_length=10_000)]


@router.get("/presets")
async def presets(caller: PageCaller, after: After = None) -> HTMLResponse:
    return page("presets/index.html", view=await presets_view(*caller, after))


@router.post("/presets/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller) -> Response:
    async def import_one(data: bytes, name: str) -> ImportedItem:
        row, report = await service.import_preset(*caller, data, name=name)
        return ImportedItem(name=row.name, address=f"/presets/{row.id}", report=report)

    outcomes = await take_in(caller.request, import_one, max_bytes=service.MAX_FILE_BYTES)
    library = render("presets/_library.html", view=await presets_view(*caller))
    return imported_answer(caller.request, outcomes, library, otherwise="/presets")


@router.post("/presets/default")
async def choose_default(caller: PageCaller, preset_id: Annotated[UUID | Literal[""], Form()] = "") -> Response:
    await service.set_default_preset(*caller, preset_id or None)
    return RedirectResponse("/presets", status_code=303)


@router.get("/presets/{preset_id}")
async def show(caller: PageCaller, preset_id: UUID) -> Response:
    return await _preset_page(caller, preset_id)


@router.post("/presets/{preset_id}")
async def change(
    caller: PageCaller, preset_id: UUID, settings_version: Version, name: Text, description: Text = ""
) -> Response:
    given = {"name": name, "description": one_newline(description)}
    try:
        patch = understood(PatchPreset, settings_version=settings_version, **given)
        row = await service.update_preset(*caller, preset_id, patch)
    except Refused as refused:
        return await _preset_page(caller, preset_id, refused=refused, given=given)
    return RedirectResponse(f"/presets/{row.id}", status_code=303)


@router.post("/presets/{preset_id}/duplicate")
async def duplicate(caller: PageCaller, preset_id: UUID) -> Response:
    copy = await service.duplicate_preset(*caller, preset_id)
    return RedirectResponse(f"/presets/{copy.id}", status_code=303)


@router.post("/presets/{preset_id}/delete")
async def delete(caller: PageCaller, preset_id: UUID) -> Response:
    await service.delete_preset(*caller, preset_id)
    return RedirectResponse("/presets", status_code=303)


@router.post("/presets/{preset_id}/prompts/enabled")
async def switch_prompt(
    caller: PageCaller, preset_id: UUID, identifier: Identifier, settings_version: Version, enabled: Flag
) -> Response:
    patch = PatchPrompt(settings_version=settings_version, enabled=enabled)
    change = service.change_prompt(*caller, preset_id, identifier, patch)
    return await _changed(caller, preset_id, change)


@router.post("/presets/{preset_id}/prompts/move")
async def move_prompt(
    caller: PageCaller, preset_id: UUID, identifier: Identifier, settings_version: Version, direction: Direction
) -> Response:
    """Change places with the prompt before or behind."""
    view = await preset_view(*caller, preset_id)
    order = [
        {"identifier": prompt.identifier, "enabled": prompt.enabled}
        for prompt in view.prompts
        if prompt.enabled is not None
    ]
    place = next((place for place, prompt in enumerate(order) if prompt["identifier"] == identifier), None)
    if place is None:
        raise not_found(_("prompt"))
    # At its end of the order, it stays.
    other = min(max(place + (-1 if direction == "up" else 1), 0), len(order) - 1)
    order[place], order[other] = order[other], order[place]
    new = understood(OrderPrompts, settings_version=settings_version, order=order)
    return await _changed(caller, preset_id, service.order_prompts(*caller, preset_id, new))


async def _changed(caller: Visitor, preset_id: UUID, change: Awaitable[tuple[Preset, ChatPreset]]) -> Response:
    """The prompts as they are after the change, in the preset or in the copy that was made of it."""
    try:
        row, _preset = await change
    except Refused as refused:
        return await _preset_page(caller, preset_id, refused=refused)
    if row.id != preset_id:
        return RedirectResponse(f"/presets/{row.id}", status_code=303)
    view = await preset_view(*caller, row.id)
    streams = replaced("prompts", "presets/_prompts.html", view=view)
    streams += saved_streams("settings_version", view.version)
    return answer(caller.request, streams, otherwise=f"/presets/{row.id}#prompts")


async def _preset_page(
    caller: Caller, preset_id: UUID, *, refused: Refused | None = None, given: Mapping[str, str] | None = None
) -> Response:
    """A preset as it is now; `given` is what somebody wanted it to be called, and was refused."""
    view = await preset_view(*caller, preset_id)
    return page(
        "presets/preset.html",
        refused,
        view=view,
        given=given or {"name": view.name, "description": view.description},
        is_renaming=given is not None,
    )
