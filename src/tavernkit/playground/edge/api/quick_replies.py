"""Quick replies over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.files import json_download, upload
from tavernkit.playground.edge.api.requests import After, ApiCaller, ConversationId, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of
from tavernkit.playground.story.quick_replies import queries, service
from tavernkit.playground.story.quick_replies.documents import (
    MAX_MESSAGE,
    ButtonFields,
    ButtonOrder,
    NewPlace,
    NewQuickReplySet,
    PatchButton,
    PatchQuickReplySet,
    PlaceOut,
    QuickReplyPlace,
    QuickReplySetOut,
    QuickReplySetSummary,
)
from tavernkit.playground.story.quick_replies.expanding import expand_quick_reply
from tavernkit.playground.story.quick_replies.files import MAX_FILE_BYTES


class QuickRepliesImported(BaseModel):
    set: QuickReplySetOut
    format: str = Field(description="What the file was.")
    notes: list[NoteOut]


class QuickReplyInput(StrictModel):
    input: str = Field(default="", max_length=MAX_MESSAGE, description="What stands in the composer.")


class ExpandedOut(BaseModel):
    """What a button says in a conversation."""

    text: str
    send: bool = Field(description="Whether the text is a message; otherwise it goes into the composer.")
    uses_input: bool = Field(description="Whether it stands for what was in the composer.")


ButtonId = Annotated[int, Path(ge=0, le=2**31 - 1, description="The button.")]

router = APIRouter(prefix="/quick_replies", tags=["quick replies"])
conversation_router = APIRouter(prefix="/conversations/{conversation_id}/quick_replies", tags=["quick replies"])


@router.get("", responses=documented())
async def list_sets(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[QuickReplySetSummary]:
    """Your sets of quick replies, by name."""
    rows = await caller.read(queries.sets_page, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, QuickReplySetSummary.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented(409))
async def create_set(caller: ApiCaller, new: NewQuickReplySet) -> QuickReplySetOut:
    """Make a set; it is used in all your stories."""
    return QuickReplySetOut.of(await service.create_set(*caller, new))


@router.post("/import", status_code=201, responses=documented(409, 413), openapi_extra=ONE_FILE)
async def import_set(caller: ApiCaller, request: Request) -> QuickRepliesImported:
    """Take in a set of SillyTavern, of the present format or the one before it; it is used in all your stories."""
    data, name = await upload(request, max_bytes=MAX_FILE_BYTES)
    row, report = await service.import_set(*caller, data, name=name)
    return QuickRepliesImported(set=QuickReplySetOut.of(row), format=report.format, notes=notes_of(report))


@router.get("/{set_id}", responses=documented())
async def show_set(caller: ApiCaller, set_id: UUID) -> QuickReplySetOut:
    """One set with its buttons."""
    return QuickReplySetOut.of(await caller.read(queries.set_for, set_id))


@router.patch("/{set_id}", responses=documented(409))
async def update_set(caller: ApiCaller, set_id: UUID, patch: PatchQuickReplySet) -> QuickReplySetOut:
    """Rename a set, or change what it says about all of its buttons."""
    return QuickReplySetOut.of(await service.update_set(*caller, set_id, patch))


@router.delete("/{set_id}", status_code=204, responses=documented())
async def delete_set(caller: ApiCaller, set_id: UUID) -> None:
    """Move a set to the trash."""
    await service.delete_set(*caller, set_id)


@router.post("/{set_id}/duplicate", status_code=201, responses=documented(409))
async def duplicate_set(caller: ApiCaller, set_id: UUID) -> QuickReplySetOut:
    """Copy a set; the copy is used nowhere yet."""
    return QuickReplySetOut.of(await service.duplicate_set(*caller, set_id))


@router.get("/{set_id}/export", response_class=Response, responses=documented())
async def export_set(caller: ApiCaller, set_id: UUID) -> Response:
    """A set as SillyTavern reads it."""
    row = await caller.read(queries.set_for, set_id)
    return json_download(row.name, service.exported_set(row))


@router.post("/{set_id}/buttons", status_code=201, responses=documented(409))
async def add_button(caller: ApiCaller, set_id: UUID, new: ButtonFields) -> QuickReplySetOut:
    """Add a button behind the others."""
    row, _number = await service.add_button(*caller, set_id, new)
    return QuickReplySetOut.of(row)


@router.put("/{set_id}/buttons/order", responses=documented(409))
async def order_buttons(caller: ApiCaller, set_id: UUID, order: ButtonOrder) -> QuickReplySetOut:
    """Put all buttons of a set in order."""
    return QuickReplySetOut.of(await service.order_buttons(*caller, set_id, order))


@router.patch("/{set_id}/buttons/{button_id}", responses=documented(409))
async def update_button(caller: ApiCaller, set_id: UUID, button_id: ButtonId, patch: PatchButton) -> QuickReplySetOut:
    """Change a button."""
    return QuickReplySetOut.of(await service.update_button(*caller, set_id, button_id, patch))


@router.delete("/{set_id}/buttons/{button_id}", responses=documented())
async def remove_button(caller: ApiCaller, set_id: UUID, button_id: ButtonId) -> QuickReplySetOut:
    """Remove a button."""
    return QuickReplySetOut.of(await service.remove_button(*caller, set_id, button_id, settings_version=None))


@router.post("/{set_id}/buttons/{button_id}/duplicate", status_code=201, responses=documented(409))
async def duplicate_button(caller: ApiCaller, set_id: UUID, button_id: ButtonId) -> QuickReplySetOut:
    """Copy a button; the copy stands behind it."""
    row, _copy = await service.duplicate_button(*caller, set_id, button_id)
    return QuickReplySetOut.of(row)


@router.get("/{set_id}/places", responses=documented())
async def list_places(caller: ApiCaller, set_id: UUID) -> list[PlaceOut]:
    """Where a set is used."""
    return [PlaceOut.of(place.link) for place in await caller.read(queries.places_of_set, set_id)]


@router.put("/{set_id}/places", responses=documented())
async def use_set(caller: ApiCaller, set_id: UUID, place: NewPlace) -> PlaceOut:
    """Use a set in all your stories, in a space, or with a character."""
    return PlaceOut.of(await service.use_set(*caller, set_id, place))


@router.delete("/{set_id}/places", status_code=204, responses=documented())
async def disuse_set(caller: ApiCaller, set_id: UUID, place: Annotated[QuickReplyPlace, Query()]) -> None:
    """Use a set no more at a place."""
    await service.disuse_set(*caller, set_id, place)


@conversation_router.post("/{set_id}/{button_id}", responses=documented(409))
async def expand_button(
    caller: ApiCaller, conversation_id: ConversationId, set_id: UUID, button_id: ButtonId, given: QuickReplyInput
) -> ExpandedOut:
    """The text of a button with its macros expanded. Nothing is sent or changed."""
    said = await expand_quick_reply(*caller, conversation_id, set_id, button_id, typed=given.input)
    return ExpandedOut(text=said.text, send=said.send, uses_input=said.uses_input)
