"""Personas over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.edge.api.files import attachment, json_download, upload
from tavernkit.playground.edge.api.requests import After, ApiCaller, ConversationId, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of
from tavernkit.playground.story.personas import connections, queries, service
from tavernkit.playground.story.personas.archives import export_archive, import_file
from tavernkit.playground.story.personas.documents import (
    ConnectionOut,
    NewConnection,
    NewPersona,
    PatchPersona,
    PersonaLock,
    PersonaOut,
)


class PersonasImported(BaseModel):
    personas: list[PersonaOut]
    known: int = Field(description="How many were there already.")
    notes: list[NoteOut]


router = APIRouter(prefix="/personas", tags=["personas"])
conversation_router = APIRouter(prefix="/conversations/{conversation_id}/persona", tags=["personas"])
WithPictures = Annotated[bool, Query(description="Whether the pictures come along, in a ZIP archive.")]
SeenVersion = Annotated[int, Query(ge=0, le=2**31 - 1, description="The version that was read.")]


@router.get("", responses=documented())
async def list_personas(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[PersonaOut]:
    """Your personas, by name."""
    rows = await caller.read(queries.personas_page, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, PersonaOut.of_row, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented())
async def create_persona(caller: ApiCaller, new: NewPersona) -> PersonaOut:
    """Make a persona."""
    return PersonaOut.of_row(await service.create_persona(*caller, new))


@router.post("/import", status_code=201, responses=documented(413), openapi_extra=ONE_FILE)
async def import_personas(caller: ApiCaller, request: Request) -> PersonasImported:
    """Take in SillyTavern's backup of personas or its `settings.json`; a picture, for the persona of its file name or
    for a new one; or a ZIP archive of both."""
    data, name = await upload(request, max_bytes=service.MAX_IMPORT_BYTES)
    taken = await import_file(*caller, data, name=name)
    return PersonasImported(
        personas=[PersonaOut.of_row(row) for row in taken.rows], known=taken.known, notes=notes_of(taken.report)
    )


@router.get("/export", response_class=Response, responses=documented())
async def export_personas(caller: ApiCaller, pictures: WithPictures = False) -> Response:
    """All your personas as a backup that SillyTavern restores; with `pictures`, a ZIP archive of it and of them."""
    if pictures:
        data = await export_archive(*caller)
        return Response(data, media_type="application/zip", headers=attachment("personas", "zip"))
    return json_download("personas", await service.export_personas(*caller))


@router.get("/{persona_id}", responses=documented())
async def show_persona(caller: ApiCaller, persona_id: UUID) -> PersonaOut:
    """One persona."""
    return PersonaOut.of_row(await caller.read(queries.persona_for, persona_id))


@router.patch("/{persona_id}", responses=documented(409))
async def update_persona(caller: ApiCaller, persona_id: UUID, patch: PatchPersona) -> PersonaOut:
    """Change a persona, or make it the one that your new spaces begin with."""
    return PersonaOut.of_row(await service.update_persona(*caller, persona_id, patch))


@router.delete("/{persona_id}", status_code=204, responses=documented())
async def delete_persona(caller: ApiCaller, persona_id: UUID) -> None:
    """Move a persona to the trash; what was said with it stays."""
    await service.delete_persona(*caller, persona_id)


@router.post("/{persona_id}/duplicate", status_code=201, responses=documented())
async def duplicate_persona(caller: ApiCaller, persona_id: UUID) -> PersonaOut:
    """Copy a persona."""
    return PersonaOut.of_row(await service.duplicate_persona(*caller, persona_id))


@router.put("/{persona_id}/picture", responses=documented(409, 413), openapi_extra=ONE_FILE)
async def set_picture(
    caller: ApiCaller, request: Request, persona_id: UUID, settings_version: SeenVersion
) -> PersonaOut:
    """Give a persona a picture, which is kept small."""
    data, _name = await upload(request, max_bytes=service.MAX_PICTURE_BYTES)
    return PersonaOut.of_row(await service.set_picture(*caller, persona_id, data, settings_version=settings_version))


@router.delete("/{persona_id}/picture", responses=documented(409))
async def remove_picture(caller: ApiCaller, persona_id: UUID, settings_version: SeenVersion) -> PersonaOut:
    """Take the picture of a persona away."""
    return PersonaOut.of_row(await service.set_picture(*caller, persona_id, None, settings_version=settings_version))


@router.get("/{persona_id}/connections", responses=documented())
async def list_connections(caller: ApiCaller, persona_id: UUID) -> list[ConnectionOut]:
    """What selects a persona: characters in new stories, and conversations that are locked to it."""
    return await caller.read(connections.connections_of, persona_id)


@router.post("/{persona_id}/connections", status_code=201, responses=documented(409))
async def connect_character(caller: ApiCaller, persona_id: UUID, new: NewConnection) -> ConnectionOut:
    """Let a character select a persona in new stories."""
    return await connections.connect_character(*caller, persona_id, new.character_id)


@router.delete("/{persona_id}/connections/{connection_id}", status_code=204, responses=documented())
async def disconnect(caller: ApiCaller, persona_id: UUID, connection_id: UUID) -> None:
    """Let something select a persona no more."""
    await connections.disconnect(*caller, persona_id, connection_id)


@conversation_router.get("", responses=documented())
async def show_lock(caller: ApiCaller, conversation_id: ConversationId) -> PersonaLock:
    """The persona that you are in a conversation, whoever you are in its space."""
    return PersonaLock(persona_id=await caller.read(connections.locked_persona_id, conversation_id))


@conversation_router.put("", responses=documented())
async def lock_persona(caller: ApiCaller, conversation_id: ConversationId, lock: PersonaLock) -> PersonaLock:
    """Be one of your personas in a conversation, whoever you are in its space; null ends that."""
    return PersonaLock(persona_id=await connections.lock_conversation_to(*caller, conversation_id, lock.persona_id))
