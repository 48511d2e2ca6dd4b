"""The pages about personas: the list, and one persona with its picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from pydantic import Field

from tavernkit.playground.base.database.models import Persona
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, translated
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.presenting.imports import OriginView, origins_view
from tavernkit.playground.edge.views.personas import (
    LABELS,
    POSITIONS,
    ROLES,
    PersonaForm,
    PersonaView,
    differences,
    persona_view,
    personas_view,
)
from tavernkit.playground.edge.web.forms import Version, filled_in, page, saved_streams, understood
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, Visitor, answer, replaced
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import file_body, one_file
from tavernkit.playground.story.personas import service
from tavernkit.playground.story.personas.archives import import_file
from tavernkit.playground.story.personas.connections import connect_character, disconnect
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona
from tavernkit.playground.story.personas.queries import persona_for
from tavernkit.playground.story.personas.service import MAX_PICTURE_BYTES, set_picture

router = APIRouter()

# A form with a file is read as it comes, and never as a whole, so what it was filled in from stands in its address.
Search = Annotated[str, Query(max_length=200)]
VersionInAddress = Annotated[int, Query(ge=0, le=2**31 - 1)]


class SeenPersonaForm(PersonaForm):
    """The form of a persona, and the version that it was filled in from."""

    settings_version: int = Field(ge=0, le=2**31 - 1)


@router.get("/personas")
async def personas(caller: PageCaller, after: After = None, search: Search = "") -> HTMLResponse:
    return page("personas/index.html", view=await personas_view(*caller, after, search=search))


@router.get("/personas/new")
async def new(_caller: PageCaller) -> HTMLResponse:
    return _form_page(None, PersonaForm.model_validate({}))


@router.post("/personas")
async def create(caller: PageCaller, form: Annotated[PersonaForm, Form()]) -> Response:
    try:
        made = await service.create_persona(*caller, understood(NewPersona, **form.fields()))
    except Refused as refused:
        return _form_page(None, form, refused)
    return RedirectResponse(f"/personas/{made.id}", status_code=303)


@router.post("/personas/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller) -> Response:
    async def import_one(data: bytes, name: str) -> ImportedItem:
        taken = await import_file(*caller, data, name=name)
        if taken.report.format == "picture":
            row = taken.rows[0]
            return ImportedItem(name=row.name, address=f"/personas/{row.id}", report=taken.report)
        count = ngettext("{count} persona", "{count} personas", len(taken.rows))
        if taken.known:
            count = _("{personas}, {skipped} skipped", personas=count, skipped=taken.known)
        return ImportedItem(name=translated(count), address="/personas", report=taken.report)

    outcomes = await take_in(caller.request, import_one, max_bytes=service.MAX_IMPORT_BYTES)
    library = render("personas/_library.html", view=await personas_view(*caller))
    return imported_answer(caller.request, outcomes, library, otherwise="/personas")


@router.get("/personas/{persona_id}")
async def show(caller: PageCaller, persona_id: UUID, search: Search = "") -> Response:
    return await _persona_page(caller, persona_id, search=search)


@router.post("/personas/{persona_id}")
async def change(caller: PageCaller, persona_id: UUID, given: Annotated[SeenPersonaForm, Form()]) -> Response:
    form = PersonaForm(**given.model_dump(exclude={"settings_version"}))
    try:
        patch = understood(PatchPersona, settings_version=given.settings_version, **form.fields())
        row = await service.update_persona(*caller, persona_id, patch)
    except Refused as refused:
        return await _persona_page(caller, persona_id, form=form, refused=refused)
    streams = saved_streams("settings_version", row.settings_version, row.updated_at) + _picture(row)
    return answer(caller.request, streams, otherwise=f"/personas/{persona_id}")


@router.post("/personas/{persona_id}/default")
async def choose_default(caller: PageCaller, persona_id: UUID, settings_version: Version) -> Response:
    patch = understood(PatchPersona, settings_version=settings_version, is_default=True)
    await service.update_persona(*caller, persona_id, patch)
    return RedirectResponse("/personas", status_code=303)


@router.post("/personas/{persona_id}/picture", openapi_extra=file_body("file"))
async def put_picture(caller: PageCaller, persona_id: UUID, settings_version: VersionInAddress) -> Response:
    try:
        data = await one_file(caller.request, max_bytes=MAX_PICTURE_BYTES)
    except Refused as refused:
        return await _persona_page(caller, persona_id, refused=refused)
    return await _pictured(caller, persona_id, data, settings_version)


@router.post("/personas/{persona_id}/picture/remove")
async def remove_picture(caller: PageCaller, persona_id: UUID, settings_version: VersionInAddress) -> Response:
    return await _pictured(caller, persona_id, None, settings_version)


@router.post("/personas/{persona_id}/duplicate")
async def duplicate(caller: PageCaller, persona_id: UUID) -> Response:
    copy = await service.duplicate_persona(*caller, persona_id)
    return RedirectResponse(f"/personas/{copy.id}", status_code=303)


@router.post("/personas/{persona_id}/connections")
async def connect(caller: PageCaller, persona_id: UUID, character_id: Annotated[UUID, Form()]) -> Response:
    await connect_character(*caller, persona_id, character_id)
    return RedirectResponse(f"/personas/{persona_id}#connections", status_code=303)


@router.post("/personas/{persona_id}/connections/{connection_id}/remove")
async def remove_connection(caller: PageCaller, persona_id: UUID, connection_id: UUID) -> Response:
    await disconnect(*caller, persona_id, connection_id)
    return RedirectResponse(f"/personas/{persona_id}#connections", status_code=303)


@router.post("/personas/{persona_id}/delete")
async def delete(caller: PageCaller, persona_id: UUID) -> Response:
    await service.delete_persona(*caller, persona_id)
    return await back_from_deleting(caller.runtime, "persona", persona_id, "/personas")


async def _pictured(caller: Visitor, persona_id: UUID, data: bytes | None, version: int) -> Response:
    try:
        row = await set_picture(*caller, persona_id, data, settings_version=version)
    except Refused as refused:
        return await _persona_page(caller, persona_id, refused=refused)
    streams = saved_streams("settings_version", row.settings_version) + _picture(row)
    return answer(caller.request, streams, otherwise=f"/personas/{persona_id}")


async def _persona_page(
    caller: Caller,
    persona_id: UUID,
    *,
    search: str = "",
    form: PersonaForm | None = None,
    refused: Refused | None = None,
) -> Response:
    """A persona as it is now; `form` is what somebody has typed, and it stays."""
    row = await caller.read(persona_for, persona_id)
    view = await persona_view(*caller, persona_id, search=search)
    origins = await origins_view(*caller, "persona", persona_id)
    return _form_page(row, form or filled_in(PersonaForm, row), refused, view=view, origins=origins)


def _form_page(
    row: Persona | None,
    form: PersonaForm,
    refused: Refused | None = None,
    *,
    view: PersonaView | None = None,
    origins: Sequence[OriginView] = (),
) -> HTMLResponse:
    was_changed = row is not None and refused is not None and refused.code == "stale"
    return page(
        "personas/persona.html",
        refused,
        form=form,
        differences=differences(form, filled_in(PersonaForm, row)) if row is not None and was_changed else (),
        labels=LABELS,
        positions=POSITIONS,
        roles=ROLES,
        persona=row,
        view=view,
        origins=origins,
    )


def _picture(row: Persona) -> Markup:
    return replaced("picture", "personas/_picture.html", persona=row)
