"""The pages about lorebooks: the list, a book with its entries, one entry, a text tried out on a book, and the tab
beside the chat that shows which books are in play."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE
from tavernkit.playground.base.database.models import LorebookEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.presenting.imports import origins_view
from tavernkit.playground.edge.presenting.lore_entry import (
    AS_SET,
    POSITIONS,
    EntryForm,
    blank_form,
    changed_fields,
    decorator_check,
    differences,
    entry_editor,
    entry_form,
)
from tavernkit.playground.edge.presenting.lore_test import LoreTestView, conversations_to_test, lore_test_view
from tavernkit.playground.edge.presenting.lorebooks import (
    BOOK_LABELS,
    BookForm,
    BulkForm,
    book_differences,
    book_form,
    book_patch,
    bulk_change,
    bulk_sentence,
    entry_row,
    filter_of,
    lorebook_view,
    lorebooks_view,
    shared_lorebook_view,
)
from tavernkit.playground.edge.presenting.lorebooks_panel import lore_view
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_access, panel_answer, panel_page
from tavernkit.playground.edge.web.forms import (
    Flag,
    Text,
    one_newline,
    page,
    refusal_of,
    saved_streams,
    understood,
)
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import (
    Caller,
    PageCaller,
    ToastView,
    Visitor,
    answer,
    replaced,
    toast_stream,
    wants_streams,
)
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.lorebooks import service
from tavernkit.playground.story.lorebooks.documents import EntryFilter, NewLink, NewLorebook, PatchLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook, change_link, detach_lorebook
from tavernkit.playground.story.lorebooks.queries import NO_FILTER, entry_of, last_activations, lorebook_of
from tavernkit.playground.story.previews.lore_tests import Draft

router = APIRouter()

LONGEST_TEST_TEXT = 100_000

Revision = Annotated[int, Form(ge=1, le=2**31 - 1)]


class SeenEntryForm(EntryForm):
    """The form of an entry, and the revision that it was filled in from."""

    revision: int = Field(ge=1, le=2**31 - 1)


class SeenBookForm(BookForm):
    """What a book says about itself, and the version that the form was filled in from."""

    settings_version: int = Field(ge=0, le=2**31 - 1)


class TestedForm(EntryForm):
    """The form of an entry, with what it is tried out on; an entry that is yet to be made has no id."""

    __test__ = False

    test_text: str = ""
    conversation_id: str = ""
    entry_id: UUID | Literal[""] = ""


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


Asked = Annotated[str, Query(max_length=200)]


def _wanted(search: Asked = "", enabled: Asked = "", constant: Asked = "", position: Asked = "") -> EntryFilter:
    return filter_of(search, enabled, constant, position)


Wanted = Annotated[EntryFilter, Depends(_wanted)]
"""The filter of the table, in the address of the page and of what it posts."""


@router.get("/lorebooks/{lorebook_id}")
async def show(caller: PageCaller, lorebook_id: UUID, wanted: Wanted, after: After = None) -> Response:
    """The book with its forms; one that others share, to be read."""
    if (shared := await shared_lorebook_view(*caller, lorebook_id, after=after)) is not None:
        return page("lorebooks/shared.html", view=shared)
    return await _book_page(caller, lorebook_id, after=after, wanted=wanted)


@router.post("/lorebooks/{lorebook_id}")
async def change(caller: PageCaller, lorebook_id: UUID, given: Annotated[SeenBookForm, Form()]) -> Response:
    form = BookForm(**given.model_dump(exclude={"settings_version"}))
    try:
        patch = book_patch(form, given.settings_version)
        await service.update_lorebook(*caller, lorebook_id, patch)
    except Refused as refused:
        return await _book_page(caller, lorebook_id, refused=refused, given=form)
    return RedirectResponse(f"/lorebooks/{lorebook_id}", status_code=303)


@router.post("/lorebooks/{lorebook_id}/delete")
async def delete(caller: PageCaller, lorebook_id: UUID) -> Response:
    await service.delete_lorebook(*caller, lorebook_id)
    return await back_from_deleting(caller.runtime, "lorebook", lorebook_id, "/lorebooks")


@router.post("/lorebooks/{lorebook_id}/duplicate")
async def duplicate(caller: PageCaller, lorebook_id: UUID) -> Response:
    copy = await service.duplicate_lorebook(*caller, lorebook_id)
    return RedirectResponse(f"/lorebooks/{copy.id}", status_code=303)


@router.post("/lorebooks/{lorebook_id}/test")
async def run_lore_test(caller: PageCaller, lorebook_id: UUID, text: Text = "", conversation_id: Text = "") -> Response:
    """Nothing is changed, so there is nowhere to redirect to: without scripts, the page comes with the outcome."""
    trial = await _tested(caller, lorebook_id, text, conversation_id)
    if wants_streams(caller.request):
        drawn = replaced("trial", "lorebooks/_trial.html", trial=trial)
        return answer(caller.request, drawn, otherwise=f"/lorebooks/{lorebook_id}")
    return await _book_page(caller, lorebook_id, trial=trial)


@router.post("/lorebooks/{lorebook_id}/entries/bulk")
async def change_entries(
    caller: PageCaller, lorebook_id: UUID, wanted: Wanted, given: Annotated[BulkForm, Form()]
) -> Response:
    """One change of all selected entries, or of all that the filter of the table finds."""
    try:
        count, _book = await service.change_entries(*caller, lorebook_id, bulk_change(given, wanted))
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return await _book_page(caller, lorebook_id, wanted=wanted, refused=refused)
    view = await lorebook_view(*caller, lorebook_id, wanted=wanted)
    streams = replaced("entries", "lorebooks/_entries.html", view=view, positions=POSITIONS)
    streams += saved_streams("settings_version", view.book.settings_version)
    streams += toast_stream(ToastView(sentence=bulk_sentence(given.action, count)))
    return answer(caller.request, streams, otherwise=view.address)


@router.post("/lorebooks/{lorebook_id}/entries/move")
async def move_entry(
    caller: PageCaller,
    lorebook_id: UUID,
    moved: Annotated[UUID, Form()],
    behind: Annotated[UUID | Literal[""], Form()] = "",
    before: Annotated[UUID | Literal[""], Form()] = "",
) -> Response:
    """The entry was dragged between two others of the page."""
    book = await service.move_entry(*caller, lorebook_id, moved, behind=behind or None, before=before or None)
    streams = saved_streams("settings_version", book.settings_version)
    return answer(caller.request, streams, otherwise=f"/lorebooks/{lorebook_id}")


@router.get("/lorebooks/{lorebook_id}/entries/new")
async def new_entry(caller: PageCaller, lorebook_id: UUID) -> Response:
    return await _entry_page(caller, lorebook_id, form=blank_form())


@router.post("/lorebooks/{lorebook_id}/entries")
async def add_entry(caller: PageCaller, lorebook_id: UUID, form: Annotated[EntryForm, Form()]) -> Response:
    try:
        data, _removed = changed_fields(ENTRY_TEMPLATE, form)
        made = await service.add_entry(*caller, lorebook_id, data)
    except Refused as refused:
        return await _entry_page(caller, lorebook_id, form=form, refused=refused)
    return RedirectResponse(f"/lorebooks/{lorebook_id}#entry_{made.id}", status_code=303)


@router.post("/lorebooks/{lorebook_id}/entries/test")
async def test_entry(caller: PageCaller, lorebook_id: UUID, given: Annotated[TestedForm, Form()]) -> Response:
    """The entry as it stands in its form is tried out, and saved nowhere."""
    form = EntryForm(**{name: getattr(given, name) for name in EntryForm.model_fields})
    stored = None if not given.entry_id else await _entry(caller, lorebook_id, given.entry_id)
    data = ENTRY_TEMPLATE if stored is None else stored.data
    try:
        fields, _removed = changed_fields(data, form)
    except Refused as refused:
        trial = LoreTestView(warnings=(refused.sentence,))
    else:
        draft = Draft(uid=None if stored is None else stored.uid, data={**data, **fields})
        trial = await _tested(caller, lorebook_id, given.test_text, given.conversation_id, draft)
    if wants_streams(caller.request):
        drawn = replaced("trial", "lorebooks/_trial.html", trial=trial)
        drawn += replaced("decorators", "lorebooks/_decorators.html", check=decorator_check(form.content))
        return answer(caller.request, drawn, otherwise=f"/lorebooks/{lorebook_id}")
    return await _entry_page(caller, lorebook_id, given.entry_id or None, form=form, trial=trial)


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
        data, removed = changed_fields(seen.data, form)
        saved = await service.update_entry(
            *caller, lorebook_id, entry_id, revision=given.revision, data=data, removed=removed
        )
    except Refused as refused:
        return await _entry_page(caller, lorebook_id, entry_id, form=form, refused=refused)
    streams = saved_streams("revision", saved.revision, saved.updated_at)
    return answer(caller.request, streams, otherwise=f"/lorebooks/{lorebook_id}/entries/{entry_id}")


@router.post("/lorebooks/{lorebook_id}/entries/{entry_id}/enabled")
async def switch_entry(caller: PageCaller, lorebook_id: UUID, entry_id: UUID, enabled: Flag) -> Response:
    _count, book = await service.toggle_entries(*caller, lorebook_id, enabled=enabled, ids=[entry_id])
    async with caller.runtime.database.read() as session:
        entry = await entry_of(session, book, entry_id)
        activations = await last_activations(session, caller.viewer, book, [entry])
    row = entry_row(entry, activations.get(entry_id))
    streams = replaced(f"entry_{entry_id}", "lorebooks/_entry.html", entry=row, book_id=lorebook_id)
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


async def _tested(
    caller: Caller, lorebook_id: UUID, text: str, conversation_id: str, draft: Draft | None = None
) -> LoreTestView:
    """The outcome of a test, or the sentence that says why there is none."""
    text = one_newline(text)[:LONGEST_TEST_TEXT]
    try:
        chosen = UUID(conversation_id) if conversation_id else None
        return await lore_test_view(*caller, lorebook_id, text=text, conversation_id=chosen, draft=draft)
    except ValueError:
        raise not_found(_("conversation")) from None
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return LoreTestView(text=text, conversation_id=chosen, warnings=(refused.sentence,))


async def _book_page(
    caller: Caller,
    lorebook_id: UUID,
    *,
    after: str | None = None,
    wanted: EntryFilter = NO_FILTER,
    trial: LoreTestView | None = None,
    refused: Refused | None = None,
    given: BookForm | None = None,
) -> Response:
    """A book as it is now; `given` is what somebody wanted it to say about itself, and was refused."""
    view = await lorebook_view(*caller, lorebook_id, after=after, wanted=wanted)
    stored = book_form(view.book)
    was_changed = given is not None and refused is not None and refused.code == "stale"
    return page(
        "lorebooks/book.html",
        refused,
        view=view,
        trial=trial or LoreTestView(),
        given=given or stored,
        differences=book_differences(given, stored) if given and was_changed else (),
        labels=BOOK_LABELS,
        yes_or_no=AS_SET,
        positions=POSITIONS,
        conversations=await conversations_to_test(*caller),
        origins=await origins_view(*caller, "lorebook", lorebook_id),
    )


async def _entry_page(
    caller: Caller,
    lorebook_id: UUID,
    entry_id: UUID | None = None,
    *,
    form: EntryForm | None = None,
    refused: Refused | None = None,
    trial: LoreTestView | None = None,
) -> Response:
    """The form of an entry, or of one that is yet to be made; `form` is what somebody has typed, and it stays."""
    async with caller.runtime.database.read() as session:
        book = await lorebook_of(session, caller.viewer, lorebook_id)
        row = None if entry_id is None else await entry_of(session, book, entry_id)
    stored = blank_form() if row is None else entry_form(row.data)
    shown = form or stored
    was_changed = refused is not None and refused.code == "stale"
    return page(
        "lorebooks/entry.html",
        refused,
        book=book,
        entry=None if row is None else entry_row(row),
        revision=0 if row is None else row.revision,
        editor=entry_editor(shown),
        differences=differences(shown, stored) if was_changed else (),
        trial=trial or LoreTestView(),
        conversations=await conversations_to_test(*caller),
    )


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
    place: Annotated[Literal["conversation", "space", "everywhere"], Form()] = "conversation",
) -> Response:
    async with caller.runtime.database.read() as session:
        # The book first: who has no such book is told nothing about conversations.
        await lorebook_of(session, caller.viewer, lorebook_id)
        conversation, access = await panel_access(session, caller.viewer, conversation_id)
    match place:
        case "conversation":
            new = NewLink(lorebook_id=lorebook_id, conversation_id=conversation.id)
        case "space":
            new = NewLink(lorebook_id=lorebook_id, space_id=access.space.id)
        case "everywhere":
            new = NewLink(lorebook_id=lorebook_id, user_id=caller.viewer.user_id)
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
