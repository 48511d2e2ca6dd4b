"""Chats in and out over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document
from tavernkit.playground.edge.api.files import BINARY, attachment, file_stem, upload
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.archives import zipped
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.books.chapters import DEFAULT_MESSAGES, MOST_MESSAGES, ChapterRule, Chapters
from tavernkit.playground.story.books.epub import MEDIA_TYPE
from tavernkit.playground.story.books.exporting import display_texts, written_book
from tavernkit.playground.story.characters.chats import ListedChat, chats_with, import_chats_with
from tavernkit.playground.story.characters.queries import find_character
from tavernkit.playground.story.chatfiles.exporting import ChatExport, encoded, export_chat, stored_texts, written_chat
from tavernkit.playground.story.chatfiles.formats import FORMATS, Format
from tavernkit.playground.story.chatfiles.importing import MAX_FILE_BYTES, import_chats
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of
from tavernkit.reading import ImportReport

WantedFormat = Annotated[
    Format,
    Query(description="The chat file of SillyTavern or RisuAI, or text, Markdown or HTML for reading."),
]
BookFormat: TypeAlias = Literal["epub"]
ExportFormat = Annotated[
    Format | BookFormat,
    Query(description="The chat file of SillyTavern or RisuAI, or text, Markdown, HTML or EPUB for reading."),
]
Rule = Annotated[
    ChapterRule,
    Query(description="Where chapters of an EPUB begin: nowhere, every so many messages, or at headings and breaks."),
]
PerChapter = Annotated[
    int, Query(ge=1, le=MOST_MESSAGES, description="How many messages a chapter of an EPUB has, if `chapters` says so.")
]
# A browser that is told to show such a file, and not to save it, lets it do nothing.
INERT = {"Content-Security-Policy": "default-src 'none'; sandbox"}


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


IMPORTED: dict[int | str, dict[str, Any]] = {
    202: {"model": JobOut, "description": "The file is long: a job imports it."},
    **documented(413),
}
router = APIRouter(tags=["conversations"])


@router.get("/conversations/{conversation_id}/export", response_class=StreamingResponse, responses=documented())
async def export_conversation(
    caller: ApiCaller,
    conversation_id: UUID,
    format: ExportFormat = "jsonl",
    chapters: Rule = "whole",
    messages_per_chapter: PerChapter = DEFAULT_MESSAGES,
) -> StreamingResponse:
    """A conversation as a file, without what was deleted."""
    export = await export_chat(*caller, conversation_id)
    if format == "epub":
        rule = Chapters(rule=chapters, messages=messages_per_chapter)
        return StreamingResponse(
            written_book(caller.runtime, export, rule),
            media_type=MEDIA_TYPE,
            headers=attachment(f"{export.space_name} - {export.title}", "epub") | INERT,
        )
    wanted = FORMATS[format]
    return StreamingResponse(
        _encoded(caller.runtime, export, format),
        media_type=wanted.media_type,
        headers=attachment(export.title, wanted.ending) | INERT,
    )


@router.get(
    "/characters/{character_id}/chats/export",
    response_class=StreamingResponse,
    responses={**BINARY, **documented()},
)
async def export_chats_with_character(
    caller: ApiCaller, character_id: UUID, format: WantedFormat = "jsonl"
) -> StreamingResponse:
    """All conversations with a character that you may read, as a ZIP archive of files."""
    async with caller.runtime.database.read() as session:
        character = await find_character(session, character_id, caller.viewer)
        chats = await chats_with(session, caller.viewer, character_id)
    files = _files(caller.runtime, caller.viewer, chats, format)
    return StreamingResponse(
        zipped(files, caller.runtime.clock()),
        media_type="application/zip",
        headers=attachment(character.name, "zip"),
    )


async def _files(
    runtime: Runtime, viewer: Viewer, chats: Sequence[ListedChat], format: Format
) -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
    """Each chat under a name that no other has, whatever the file system makes of case."""
    taken: set[str] = set()
    for chat in chats:
        try:
            export = await export_chat(runtime, viewer, chat.id)
        except Refused:  # deleted while the others were written
            continue
        stem = file_stem(f"{chat.space_name} - {chat.title}")
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem} ({number})"
        taken.add(name.casefold())
        yield f"{name}.{FORMATS[format].ending}", _encoded(runtime, export, format)


async def _encoded(runtime: Runtime, export: ChatExport, format: Format) -> AsyncIterator[bytes]:
    shown = display_texts(runtime, export.conversation_id) if format == "html" else stored_texts
    async for piece in written_chat(runtime, export, format, shown):
        yield encoded(piece)


@router.post(
    "/spaces/{space_id}/conversations/import",
    status_code=201,
    response_model=ChatsImported,
    responses=IMPORTED,
    openapi_extra=ONE_FILE,
)
async def import_conversations(caller: ApiCaller, space_id: UUID, request: Request) -> ChatsImported | JSONResponse:
    """Make a conversation of each chat in a file of SillyTavern, of an application whose chats it imports, or of text
    or Markdown; in the background if the file is long."""
    data, title = await upload(request, max_bytes=MAX_FILE_BYTES)
    return _answer(await import_chats(*caller, space_id, data, title=title))


@router.post(
    "/characters/{character_id}/chats/import",
    status_code=201,
    response_model=ChatsImported,
    responses=IMPORTED,
    openapi_extra=ONE_FILE,
)
async def import_chats_with_character(
    caller: ApiCaller,
    character_id: UUID,
    request: Request,
    space_id: Annotated[UUID | None, Query(description="A space with the character; a new one if not given.")] = None,
) -> ChatsImported | JSONResponse:
    """The same for a character: in a space with it that you own, or in a new one."""
    data, title = await upload(request, max_bytes=MAX_FILE_BYTES)
    _, outcome = await import_chats_with(*caller, character_id, data, title=title, space_id=space_id)
    return _answer(outcome)


def _answer(outcome: tuple[list[Conversation], ImportReport] | Job) -> ChatsImported | JSONResponse:
    if isinstance(outcome, Job):
        return JSONResponse(JobOut.of(outcome).model_dump(mode="json"), 202)
    conversations, report = outcome
    return ChatsImported(
        conversations=[ImportedConversation.of_row(row) for row in conversations],
        format=report.format,
        notes=notes_of(report),
    )
