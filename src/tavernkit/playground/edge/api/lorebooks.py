"""Lorebooks over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import LorebookLink
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_name, behind_number
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.api.files import json_download, upload
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.lorebooks import links as link_service
from tavernkit.playground.story.lorebooks import queries, service
from tavernkit.playground.story.lorebooks.documents import (
    BulkChange,
    EntryFilter,
    EntryOut,
    LinkPlace,
    LorebookOut,
    NewLink,
    NewLorebook,
    NoteOut,
    PatchLink,
    PatchLorebook,
    notes_of,
)
from tavernkit.playground.story.previews.lore_tests import TestedEntry, run_book_test


class LorebookImported(BaseModel):
    lorebook: LorebookOut
    format: str = Field(description="What the file was.")
    notes: list[NoteOut]


class NewEntry(StrictModel):
    data: dict[str, Any] = Field(
        default={}, description="Fields of SillyTavern's World Info, such as `key`, `comment` and `content`."
    )


class PatchEntry(StrictModel):
    revision: int = Field(ge=1, le=2**31 - 1, description="The revision that was read.")
    data: dict[str, Any] = Field(description="The fields to change; the others stay as they are.")


class EntryOrder(StrictModel):
    ids: list[UUID] = Field(
        min_length=1, max_length=50_000, description="Entries in their new order; together they keep their places."
    )


class ToggleEntries(StrictModel):
    enabled: bool
    ids: list[UUID] | None = Field(default=None, max_length=50_000, description="Null means all entries of the book.")


class Changed(BaseModel):
    changed: int = Field(description="How many entries are different now.")
    lorebook: LorebookOut


class ActivationOut(BaseModel):
    """The newest prompt that an entry was in."""

    entry_id: UUID
    run_id: UUID
    conversation_id: UUID
    activated_at: datetime


class NewTest(StrictModel):
    text: str = Field(default="", max_length=100_000, description="The newest message.")
    conversation_id: UUID | None = Field(default=None, description="Or the conversation whose next reply is meant.")


class TestedOut(BaseModel):
    """An entry and what became of it."""

    __test__ = False

    uid: str
    name: str
    why: str
    tokens: int = Field(description="Of its content, where it is activated.")
    is_near: bool = Field(description="Whether it missed by little.")

    @classmethod
    def of(cls, one: TestedEntry) -> Self:
        return cls(uid=one.uid, name=storable(one.name), why=one.why, tokens=one.tokens, is_near=one.is_near)


class TestOut(BaseModel):
    __test__ = False

    activated: list[TestedOut]
    not_activated: list[TestedOut]
    tokens: int


class LinkOut(Document):
    """A book in use."""

    id: UUID
    lorebook_id: UUID
    lorebook_name: str
    space_id: UUID | None
    conversation_id: UUID | None
    character_id: UUID | None
    persona_id: UUID | None
    user_id: UUID | None = Field(description="Whose stories use it, where all of them do.")
    enabled: bool
    position: int

    @classmethod
    def of(cls, link: LorebookLink, lorebook_name: str) -> Self:
        return cls.of_row(link, lorebook_name=lorebook_name)


router = APIRouter(prefix="/lorebooks", tags=["lorebooks"])
links_router = APIRouter(prefix="/lorebook_links", tags=["lorebooks"])


@router.get("", responses=documented())
async def list_lorebooks(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[LorebookOut]:
    """Your books, by name."""
    rows = await caller.read(queries.lorebooks_page, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, LorebookOut.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented())
async def create_lorebook(caller: ApiCaller, new: NewLorebook) -> LorebookOut:
    """Make an empty book."""
    return LorebookOut.of(await service.create_lorebook(*caller, new))


@router.post("/import", status_code=201, responses=documented(413), openapi_extra=ONE_FILE)
async def import_lorebook(caller: ApiCaller, request: Request) -> LorebookImported:
    """Make a book of a file: a world of SillyTavern, a `character_book`, a card, or a lorebook of NovelAI, Agnai or
    RisuAI."""
    data, name = await upload(request, max_bytes=service.MAX_FILE_BYTES)
    row, report = await service.import_lorebook(*caller, data, name=name)
    return LorebookImported(lorebook=LorebookOut.of(row), format=report.format, notes=notes_of(report))


@router.get("/{lorebook_id}", responses=documented())
async def show_lorebook(caller: ApiCaller, lorebook_id: UUID) -> LorebookOut:
    """A book without its entries."""
    return LorebookOut.of(await caller.read(queries.usable_lorebook, lorebook_id))


@router.patch("/{lorebook_id}", responses=documented(409))
async def update_lorebook(caller: ApiCaller, lorebook_id: UUID, patch: PatchLorebook) -> LorebookOut:
    """Change what a book says about itself."""
    return LorebookOut.of(await service.update_lorebook(*caller, lorebook_id, patch))


@router.delete("/{lorebook_id}", status_code=204, responses=documented())
async def delete_lorebook(caller: ApiCaller, lorebook_id: UUID) -> None:
    """Move a book to the trash; wherever it is used, it is not any more."""
    await service.delete_lorebook(*caller, lorebook_id)


@router.post("/{lorebook_id}/duplicate", status_code=201, responses=documented())
async def duplicate_lorebook(caller: ApiCaller, lorebook_id: UUID) -> LorebookOut:
    """Copy a book with its entries."""
    return LorebookOut.of(await service.duplicate_lorebook(*caller, lorebook_id))


@router.get("/{lorebook_id}/export", response_class=Response, responses=documented())
async def export_lorebook(
    caller: ApiCaller,
    lorebook_id: UUID,
    format: Annotated[Literal["world_info", "character_book"], Query(description="Which kind of file.")] = "world_info",
) -> Response:
    """The book as a file."""
    name, document = await service.export_lorebook(*caller, lorebook_id, character_book=format == "character_book")
    return json_download(name, document)


@router.get("/{lorebook_id}/entries", responses=documented())
async def list_entries(
    caller: ApiCaller,
    lorebook_id: UUID,
    limit: Limit = 50,
    after: After = None,
    search: Annotated[str, Query(max_length=200, description="Only with this in the title, keys or content.")] = "",
    enabled: Annotated[bool | None, Query(description="Only those that are enabled, or are not.")] = None,
    constant: Annotated[bool | None, Query(description="Only those that are constant, or are not.")] = None,
    position: Annotated[int | None, Query(ge=0, le=7, description="Only those of this position in the prompt.")] = None,
) -> Page[EntryOut]:
    """The entries in their order, or those that a filter finds."""
    wanted = EntryFilter(search=search, enabled=enabled, constant=constant, position=position)
    async with caller.runtime.database.read() as session:
        book = await queries.usable_lorebook(session, caller.viewer, lorebook_id)
        rows = await queries.entries_page(session, book.id, behind=behind_number(after), limit=limit + 1, wanted=wanted)
    return page(rows, limit, EntryOut.of, lambda row: (row.position,))


@router.post("/{lorebook_id}/entries", status_code=201, responses=documented(409))
async def add_entry(caller: ApiCaller, lorebook_id: UUID, new: NewEntry) -> EntryOut:
    """Add an entry at the end."""
    return EntryOut.of(await service.add_entry(*caller, lorebook_id, new.data))


@router.put("/{lorebook_id}/entries/order", responses=documented())
async def reorder_entries(caller: ApiCaller, lorebook_id: UUID, order: EntryOrder) -> LorebookOut:
    """Put some entries, or all, into another order."""
    return LorebookOut.of(await service.reorder_entries(*caller, lorebook_id, order.ids))


@router.post("/{lorebook_id}/entries/toggle", responses=documented())
async def toggle_entries(caller: ApiCaller, lorebook_id: UUID, toggle: ToggleEntries) -> Changed:
    """Switch all entries, or some, on or off."""
    changed, book = await service.toggle_entries(*caller, lorebook_id, **dict(toggle))
    return Changed(changed=changed, lorebook=LorebookOut.of(book))


@router.post("/{lorebook_id}/entries/bulk", responses=documented())
async def change_entries(caller: ApiCaller, lorebook_id: UUID, change: BulkChange) -> Changed:
    """Change many entries at once, or none: `enable`, `disable`, `set`, `place`, `move`, `copy` or `delete` them."""
    count, book = await service.change_entries(*caller, lorebook_id, change)
    return Changed(changed=count, lorebook=LorebookOut.of(book))


@router.get("/{lorebook_id}/activations", responses=documented())
async def list_activations(caller: ApiCaller, lorebook_id: UUID) -> list[ActivationOut]:
    """The entries that were in the recent prompts of your spaces, each with the newest."""
    async with caller.runtime.database.read() as session:
        book = await queries.usable_lorebook(session, caller.viewer, lorebook_id)
        entries = await queries.all_entries(session, book.id)
        found = await queries.last_activations(session, caller.viewer, book, entries)
    return [
        ActivationOut(entry_id=id, run_id=one.run_id, conversation_id=one.conversation_id, activated_at=one.moment)
        for id, one in found.items()
    ]


@router.post("/{lorebook_id}/test", responses=documented(409))
async def test_lorebook(caller: ApiCaller, lorebook_id: UUID, test: NewTest) -> TestOut:
    """Which entries a text as the newest message activates, or the next reply of a conversation; and why not others.
    Nothing is stored."""
    result = await run_book_test(*caller, lorebook_id, text=test.text, conversation_id=test.conversation_id)
    return TestOut(
        activated=[TestedOut.of(one) for one in result.fired],
        not_activated=[TestedOut.of(one) for one in result.silent],
        tokens=result.tokens,
    )


@router.get("/{lorebook_id}/entries/{entry_id}", responses=documented())
async def show_entry(caller: ApiCaller, lorebook_id: UUID, entry_id: UUID) -> EntryOut:
    """One entry."""
    async with caller.runtime.database.read() as session:
        book = await queries.usable_lorebook(session, caller.viewer, lorebook_id)
        return EntryOut.of(await queries.entry_of(session, book, entry_id))


@router.patch("/{lorebook_id}/entries/{entry_id}", responses=documented(409))
async def update_entry(caller: ApiCaller, lorebook_id: UUID, entry_id: UUID, patch: PatchEntry) -> EntryOut:
    """Change some fields of an entry."""
    return EntryOut.of(await service.update_entry(*caller, lorebook_id, entry_id, **dict(patch)))


@router.delete("/{lorebook_id}/entries/{entry_id}", status_code=204, responses=documented(409))
async def delete_entry(
    caller: ApiCaller,
    lorebook_id: UUID,
    entry_id: UUID,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only if it is still this one.")] = None,
) -> None:
    """Take an entry out of its book."""
    await service.delete_entry(*caller, lorebook_id, entry_id, revision=revision)


@router.post("/{lorebook_id}/entries/{entry_id}/duplicate", status_code=201, responses=documented(409))
async def duplicate_entry(caller: ApiCaller, lorebook_id: UUID, entry_id: UUID) -> EntryOut:
    """Copy an entry to the end of its book."""
    return EntryOut.of(await service.duplicate_entry(*caller, lorebook_id, entry_id))


@links_router.get("", responses=documented())
async def list_links(
    caller: ApiCaller,
    space_id: UUID | None = None,
    conversation_id: UUID | None = None,
    character_id: UUID | None = None,
    persona_id: UUID | None = None,
    user_id: Annotated[UUID | None, Query(description="Your own id, for the books in all your stories.")] = None,
    lorebook_id: Annotated[UUID | None, Query(description="The places of a book, instead of the books.")] = None,
) -> list[LinkOut]:
    """The books in use in a space or a conversation, with a character or a persona, or in all your stories; or where
    one of your books is in use."""
    named = dict(zip(queries.PLACES, (space_id, conversation_id, character_id, persona_id, user_id), strict=True))
    if sum(1 for id in (*named.values(), lorebook_id) if id is not None) != 1:
        sentence = _(
            "Name exactly one of space_id, conversation_id, character_id, persona_id, user_id and lorebook_id."
        )
        raise Refused("invalid", sentence)
    if lorebook_id is not None:
        places = await link_service.links_of_book(*caller, lorebook_id)
        return [LinkOut.of(one.link, one.book) for one in places]
    place = LinkPlace(**named)
    return [LinkOut.of(link, name) for link, name in await link_service.lorebooks_at(*caller, place)]


@links_router.post("", status_code=201, responses=documented())
async def attach_lorebook(caller: ApiCaller, new: NewLink) -> LinkOut:
    """Use a book in a space or a conversation, with a character or a persona, or in all your stories."""
    return LinkOut.of(*await link_service.attach_lorebook(*caller, new))


@links_router.patch("/{link_id}", responses=documented())
async def change_link(caller: ApiCaller, link_id: UUID, patch: PatchLink) -> LinkOut:
    """Switch a book on or off where it is used, or move it among the books there."""
    return LinkOut.of(*await link_service.change_link(*caller, link_id, patch))


@links_router.delete("/{link_id}", status_code=204, responses=documented())
async def detach_lorebook(caller: ApiCaller, link_id: UUID) -> None:
    """Use a book no more where it is used."""
    await link_service.detach_lorebook(*caller, link_id)
