"""The pages about lorebooks: the list, a book with its entries, one entry, a text tried out on a book, and the tab
beside the chat that shows which books are in play."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE
from tavernkit.playground.base.database.models import LorebookEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.presenting.lorebooks import (
    LABELS,
    LOGICS,
    POSITIONS,
    ROLES,
    EntryForm,
    LoreTestView,
    changed_fields,
    differences,
    entry_row,
    lore_test_view,
    lorebook_view,
    lorebooks_view,
)
from tavernkit.playground.edge.presenting.lorebooks import entry_form as form_of
from tavernkit.playground.edge.presenting.lorebooks_panel import lore_view
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_access, panel_answer, panel_page
from tavernkit.playground.edge.web.forms import (
    Flag,
    Text,
    Version,
    one_newline,
    page,
    refusal_of,
    saved_streams,
    understood,
)
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, Visitor, answer, replaced, wants_streams
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.lorebooks import service
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook, PatchLink, PatchLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook, change_link, detach_lorebook
from tavernkit.playground.story.lorebooks.queries import entry_of, lorebook_of

router = APIRouter()

LONGEST_TEST_TEXT = 100_000

Revision = Annotated[int, Form(ge=1, le=2**31 - 1)]


class SeenEntryForm(EntryForm):
    """The form of an entry, and the revision that it was filled in from."""

    revision: int = Field(ge=1, le=2**31 - 1)


@router.get("/lorebooks")
async def lorebooks(caller: PageCaller, after: After = None) -> HTMLResponse:
    return page("lorebooks/index.html", view=await lorebooks_view(*caller, after), typed="")


@router.post("/lorebooks")
async def create(caller: PageCaller, name: Text) -> Response:
    try:
        made = await service.create_lorebook(*caller, understood(NewLorebook, name=name))
    except Refused as refused:
        view = await lorebooks_view(*caller)
        return page("lorebooks/index.html", refused, view=view, typed=name)
    return RedirectResponse(f"/lorebooks/{made.id}", status_code=303)


@router.post("/lorebooks/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller) -> Response:
    async def import_one(data: bytes, name: str) -> ImportedItem:
        row, report = await service.import_lorebook(*caller, data, name=name)
        return ImportedItem(name=row.name, address=f"/lorebooks/{row.id}", report=report)

    outcomes = await take_in(caller.request, import_one, max_bytes=service.MAX_FILE_BYTES)
    library = render("lorebooks/_library.html", view=await lorebooks_view(*caller))
    return imported_answer(caller.request, outcomes, library, otherwise="/lorebooks")


@router.get("/lorebooks/{lorebook_id}")
async def show(
    caller: PageCaller, lorebook_id: UUID, after: After = None, search: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    return await _book_page(caller, lorebook_id, after=after, search=search)


@router.post("/lorebooks/{lorebook_id}")
async def change(
    caller: PageCaller, lorebook_id: UUID, settings_version: Version, name: Text, description: Text = ""
) -> Response:
    given = {"name": name, "description": one_newline(description)}
    try:
        patch = understood(PatchLorebook, settings_version=settings_version, **given)
        await service.update_lorebook(*caller, lorebook_id, patch)
    except Refused as refused:
        return await _book_page(caller, lorebook_id, refused=refused, given=given)
    return RedirectResponse(f"/lorebooks/{lorebook_id}", status_code=303)


@router.post("/lorebooks/{lorebook_id}/delete")
async def delete(caller: PageCaller, lorebook_id: UUID) -> Response:
    await service.delete_lorebook(*caller, lorebook_id)
    return RedirectResponse("/lorebooks", status_code=303)


@router.post("/lorebooks/{lorebook_id}/duplicate")
async def duplicate(caller: PageCaller, lorebook_id: UUID) -> Response:
    copy = await service.duplicate_lorebook(*caller, lorebook_id)
    return RedirectResponse(f"/lorebooks/{copy.id}", status_code=303)


@router.post("/lorebooks/{lorebook_id}/test")
async def run_lore_test(caller: PageCaller, lorebook_id: UUID, text: Text = "") -> Response:
    """Nothing is changed, so there is nowhere to redirect to: without scripts, the page comes with the outcome."""
    trial = await lore_test_view(*caller, lorebook_id, one_newline(text)[:LONGEST_TEST_TEXT])
    if wants_streams(caller.request):
        drawn = replaced("trial", "lorebooks/_trial.html", trial=trial)
        return answer(caller.request, drawn, otherwise=f"/lorebooks/{lorebook_id}")
    return await _book_page(caller, lorebook_id, trial=trial)


@router.get("/lorebooks/{lorebook_id}/entries/new")
async def new_entry(caller: PageCaller, lorebook_id: UUID) -> Response:
    return await _entry_page(caller, lorebook_id, form=form_of(ENTRY_TEMPLATE))


@router.post("/lorebooks/{lorebook_id}/entries")
async def add_entry(caller: PageCaller, lorebook_id: UUID, form: Annotated[EntryForm, Form()]) -> Response:
    try:
        data = changed_fields(form_of(ENTRY_TEMPLATE), form)
        made = await service.add_entry(*caller, lorebook_id, data)
    except Refused as refused:
        return await _entry_page(caller, lorebook_id, form=form, refused=refused)
    return RedirectResponse(f"/lorebooks/{lorebook_id}#entry_{made.id}", status_code=303)


@router.get("/lorebooks/{lorebook_id}/entries/{entry_id}")
async def show_entry(caller: PageCaller, lorebook_id: UUID, entry_id: UUID) -> Response:
    return await _entry_page(caller, lorebook_id, entry_id)


@router.post("/lorebooks/{lorebook_id}/entries/{entry_id}")
async def change_entry(
    caller: PageCaller, lorebook_id: UUID, entry_id: UUID, given: Annotated[SeenEntryForm, Form()]
) -> Response:
    form = EntryForm(**given.model_dump(exclude={"revision"}))
    seen = await _entry(caller, lorebook_id, entry_id)
    try:
        data = changed_fields(form_of(seen.data), form)
        saved = await service.update_entry(*caller, lorebook_id, entry_id, revision=given.revision, data=data)
    except Refused as refused:
        return await _entry_page(caller, lorebook_id, entry_id, form=form, refused=refused)
    streams = saved_streams("revision", saved.revision, saved.updated_at)
    return answer(caller.request, streams, otherwise=f"/lorebooks/{lorebook_id}/entries/{entry_id}")


@router.post("/lorebooks/{lorebook_id}/entries/{entry_id}/enabled")
async def switch_entry(caller: PageCaller, lorebook_id: UUID, entry_id: UUID, enabled: Flag) -> Response:
    _count, book = await service.toggle_entries(*caller, lorebook_id, enabled=enabled, ids=[entry_id])
    entry = await _entry(caller, lorebook_id, entry_id)
    streams = replaced(f"entry_{entry_id}", "lorebooks/_entry.html", entry=entry_row(entry), book_id=lorebook_id)
    streams += saved_streams("settings_version", book.settings_version)
    return answer(caller.request, streams, otherwise=f"/lorebooks/{lorebook_id}#entry_{entry_id}")


@router.post("/lorebooks/{lorebook_id}/entries/{entry_id}/duplicate")
async def duplicate_entry(caller: PageCaller, lorebook_id: UUID, entry_id: UUID) -> Response:
    copy = await service.duplicate_entry(*caller, lorebook_id, entry_id)
    return RedirectResponse(f"/lorebooks/{lorebook_id}/entries/{copy.id}", status_code=303)


@router.post("/lorebooks/{lorebook_id}/entries/{entry_id}/delete")
async def delete_entry(caller: PageCaller, lorebook_id: UUID, entry_id: UUID, revision: Revision) -> Response:
    try:
        await service.delete_entry(*caller, lorebook_id, entry_id, revision=revision)
    except Refused as refused:
        return await _entry_page(caller, lorebook_id, entry_id, refused=refused)
    return RedirectResponse(f"/lorebooks/{lorebook_id}", status_code=303)


async def _entry(caller: Caller, lorebook_id: UUID, entry_id: UUID) -> LorebookEntry:
    async with caller.runtime.database.read() as session:
        book = await lorebook_of(session, caller.viewer, lorebook_id)
        return await entry_of(session, book, entry_id)


async def _book_page(
    caller: Caller,
    lorebook_id: UUID,
    *,
    after: str | None = None,
    search: str = "",
    trial: LoreTestView | None = None,
    refused: Refused | None = None,
    given: Mapping[str, str] | None = None,
) -> Response:
    """A book as it is now; `given` is what somebody wanted it to be called, and was refused."""
    view = await lorebook_view(*caller, lorebook_id, after=after, search=search)
    return page(
        "lorebooks/book.html",
        refused,
        view=view,
        trial=trial or LoreTestView(text=""),
        given=given or {"name": view.book.name, "description": view.book.description},
    )


async def _entry_page(
    caller: Caller,
    lorebook_id: UUID,
    entry_id: UUID | None = None,
    *,
    form: EntryForm | None = None,
    refused: Refused | None = None,
) -> Response:
    """The form of an entry, or of one that is yet to be made; `form` is what somebody has typed, and it stays."""
    async with caller.runtime.database.read() as session:
        book = await lorebook_of(session, caller.viewer, lorebook_id)
        row = None if entry_id is None else await entry_of(session, book, entry_id)
    stored = form_of(ENTRY_TEMPLATE if row is None else row.data)
    shown = form or stored
    was_changed = refused is not None and refused.code == "stale"
    return page(
        "lorebooks/entry.html",
        refused,
        book=book,
        entry=None if row is None else entry_row(row),
        revision=0 if row is None else row.revision,
        form=shown,
        differences=differences(shown, stored) if was_changed else (),
        labels=LABELS,
        positions=_with(POSITIONS, shown.position),
        logics=_with(LOGICS, shown.logic),
        roles=_with(ROLES, shown.role),
    )


def _with(choices: Mapping[str, str], value: str) -> dict[str, str]:
    """The choices, with one that a file has brought along and nobody knows."""
    return {**choices, value: choices.get(value, _("Unknown ({value})", value=value))}


panel_router = APIRouter(prefix="/conversations/{conversation_id}/panel/lore", dependencies=IN_PANEL)


@panel_router.get("")
async def lore(caller: PageCaller, conversation_id: UUID) -> Response:
    view = await lore_view(*caller, conversation_id)
    return panel_page(caller.request, "lore", view)


@panel_router.post("")
async def attach(
    caller: PageCaller,
    conversation_id: UUID,
    lorebook_id: Annotated[UUID, Form()],
    place: Annotated[Literal["conversation", "space"], Form()] = "conversation",
) -> Response:
    async with caller.runtime.database.read() as session:
        # The book first: who has no such book is told nothing about conversations.
        await lorebook_of(session, caller.viewer, lorebook_id)
        conversation, access = await panel_access(session, caller.viewer, conversation_id)
    new = (
        NewLink(lorebook_id=lorebook_id, conversation_id=conversation.id)
        if place == "conversation"
        else NewLink(lorebook_id=lorebook_id, space_id=access.space.id)
    )
    return await _answer(caller, conversation_id, attach_lorebook(*caller, new))


@panel_router.post("/{link_id}")
async def switch(caller: PageCaller, conversation_id: UUID, link_id: UUID, enabled: Flag) -> Response:
    change = change_link(*caller, link_id, PatchLink(enabled=enabled))
    return await _answer(caller, conversation_id, change)


@panel_router.post("/{link_id}/detach")
async def detach(caller: PageCaller, conversation_id: UUID, link_id: UUID) -> Response:
    return await _answer(caller, conversation_id, detach_lorebook(*caller, link_id))


async def _answer(caller: Visitor, conversation_id: UUID, change: Awaitable[object]) -> Response:
    """The tab after a change, or with why there was none."""
    refused = await refusal_of(change)
    view = await lore_view(*caller, conversation_id, problem=refused.sentence if refused else "")
    return panel_answer(caller.request, "lore", view, otherwise=view.panel.address, refused=refused)
