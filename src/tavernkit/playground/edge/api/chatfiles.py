"""Chats in and out over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.schemas import Document
from tavernkit.playground.edge.api.files import attachment, upload
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.chatfiles.exporting import Format, export_chat, written_chat
from tavernkit.playground.story.chatfiles.importing import MAX_FILE_BYTES, import_chats
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of


class ImportedConversation(Document):
    """A conversation that an import has made."""

    id: UUID
    space_id: UUID
    title: str
    messages_count: int
    created_at: datetime


class ChatsImported(BaseModel):
    conversations: list[ImportedConversation]
    format: str = Field(description="Which application wrote the file.")
    notes: list[NoteOut]


router = APIRouter(tags=["conversations"])


@router.get("/conversations/{conversation_id}/export", response_class=StreamingResponse, responses=documented())
async def export_conversation(
    caller: ApiCaller,
    conversation_id: UUID,
    format: Annotated[Format, Query(description="SillyTavern's file, or text for people.")] = "jsonl",
) -> StreamingResponse:
    """A conversation as a file, without what was deleted."""
    export = await export_chat(*caller, conversation_id)

    async def pieces() -> AsyncIterator[bytes]:
        async for piece in written_chat(caller.runtime, export, format):
            yield piece.encode("utf-8", "replace")

    return StreamingResponse(
        pieces(),
        media_type="application/x-ndjson" if format == "jsonl" else "text/plain; charset=utf-8",
        headers=attachment(export.title, "jsonl" if format == "jsonl" else "txt"),
    )


@router.post(
    "/spaces/{space_id}/conversations/import",
    status_code=201,
    response_model=ChatsImported,
    responses={202: {"model": JobOut, "description": "The file is long: a job imports it."}, **documented(413)},
    openapi_extra=ONE_FILE,
)
async def import_conversations(caller: ApiCaller, space_id: UUID, request: Request) -> ChatsImported | JSONResponse:
    """Make a conversation of each chat in a file of SillyTavern, or of an application whose chats it imports; in the
    background if the file is long."""
    data, title = await upload(request, max_bytes=MAX_FILE_BYTES)
    outcome = await import_chats(*caller, space_id, data, title=title)
    if isinstance(outcome, Job):
        return JSONResponse(JobOut.of(outcome).model_dump(mode="json"), 202)
    conversations, report = outcome
    return ChatsImported(
        conversations=[ImportedConversation.of_row(row) for row in conversations],
        format=report.format,
        notes=notes_of(report),
    )
