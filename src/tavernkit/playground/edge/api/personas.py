"""Personas over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.edge.api.files import json_download, upload
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of
from tavernkit.playground.story.personas import service
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona, PersonaOut


class PersonasImported(BaseModel):
    personas: list[PersonaOut]
    known: int = Field(description="How many were there already, with the same name and description.")
    notes: list[NoteOut]


router = APIRouter(prefix="/personas", tags=["personas"])


@router.get("", responses=documented())
async def list_personas(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[PersonaOut]:
    """Your personas, by name."""
    rows = await caller.read(service.personas_page, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, PersonaOut.of_row, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented())
async def create_persona(caller: ApiCaller, new: NewPersona) -> PersonaOut:
    """Make a persona."""
    return PersonaOut.of_row(await service.create_persona(*caller, new))


@router.post("/import", status_code=201, responses=documented(413), openapi_extra=ONE_FILE)
async def import_personas(caller: ApiCaller, request: Request) -> PersonasImported:
    """Take in the personas of SillyTavern's backup, or of its `settings.json`."""
    data, _ = await upload(request, max_bytes=service.MAX_BACKUP_BYTES)
    rows, known, report = await service.import_personas(*caller, data)
    return PersonasImported(personas=[PersonaOut.of_row(row) for row in rows], known=known, notes=notes_of(report))


@router.get("/export", response_class=Response, responses=documented())
async def export_personas(caller: ApiCaller) -> Response:
    """All your personas as a backup that SillyTavern restores."""
    return json_download("personas", await service.export_personas(*caller))


@router.get("/{persona_id}", responses=documented())
async def show_persona(caller: ApiCaller, persona_id: UUID) -> PersonaOut:
    """One persona."""
    return PersonaOut.of_row(await caller.read(service.persona_for, persona_id))


@router.patch("/{persona_id}", responses=documented(409))
async def update_persona(caller: ApiCaller, persona_id: UUID, patch: PatchPersona) -> PersonaOut:
    """Change a persona, or make it the one that your new spaces begin with."""
    return PersonaOut.of_row(await service.update_persona(*caller, persona_id, patch))


@router.delete("/{persona_id}", status_code=204, responses=documented())
async def delete_persona(caller: ApiCaller, persona_id: UUID) -> None:
    """Delete a persona; what was said with it stays."""
    await service.delete_persona(*caller, persona_id)


@router.post("/{persona_id}/duplicate", status_code=201, responses=documented())
async def duplicate_persona(caller: ApiCaller, persona_id: UUID) -> PersonaOut:
    """Copy a persona."""
    return PersonaOut.of_row(await service.duplicate_persona(*caller, persona_id))
