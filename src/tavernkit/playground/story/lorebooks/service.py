"""What a person does with lorebooks; their entries have a module of their own."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.lore import Book, Entry, read_book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.lorebooks.documents import LorebookOut, NewLorebook, PatchLorebook
from tavernkit.playground.story.lorebooks.entry_fields import as_character_book, as_world_info, book_form, entry_forms
from tavernkit.playground.story.lorebooks.events import append_book_event
from tavernkit.playground.story.lorebooks.named_links import link_book, places_that_name
from tavernkit.playground.story.lorebooks.queries import all_entries, lorebook_of
from tavernkit.reading import ImportReport, Note
from tavernkit.values import Json

MAX_FILE_BYTES = 16 * 1024 * 1024
NAMELESS = "Lorebook"
PIECE = 500


async def create_lorebook(runtime: Runtime, viewer: Viewer, new: NewLorebook) -> Lorebook:
    """An empty book."""
    async with runtime.database.write() as session:
        name = titled(new.name, NAMELESS)
        fields: dict[str, Json] = {"name": name}
        if new.description:
            fields["description"] = new.description
        book = _row(runtime, viewer.user_id, name, {"format": "world_info", "fields": fields, "unknown": {}})
        book.description = storable(new.description)
        session.add(book)
        return book


async def import_lorebook(
    runtime: Runtime, viewer: Viewer, file: bytes, *, name: str = ""
) -> tuple[Lorebook, ImportReport]:
    """A book from a file of any format that the library reads; `name` is for one whose file gives none.

    It is linked with the characters, conversations and personas whose files name it.
    """
    try:
        book, report = await to_thread.run_sync(read_book, file)
    except TavernKitError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    async with runtime.database.read() as session:
        places = await places_that_name(session, viewer.user_id, titled(book.name or name, NAMELESS))
    async with runtime.database.write() as session:
        row = await store_book(
            runtime, session, viewer.user_id, book, name=name, file_sha256=hashlib.sha256(file).hexdigest()
        )
        linked = await link_book(runtime, session, row.id, row.name, places)
        return row, _with_links(report, linked)


def _with_links(report: ImportReport, linked: int) -> ImportReport:
    if not linked:
        return report
    note = Note(path="name", outcome="exact", message=f"linked at {linked} places whose files name this book")
    return report.with_(notes=(*report.notes, note))


async def store_book(
    runtime: Runtime,
    session: AsyncSession,
    owner_id: UUID,
    book: Book,
    *,
    name: str = "",
    file_sha256: str | None = None,
) -> Lorebook:
    """Write a book of the library into this transaction."""
    row = _row(runtime, owner_id, titled(book.name or name, NAMELESS), book_form(book))
    row.description = storable(book.description or "")
    row.file_sha256 = file_sha256
    row.entries_count = len(book.entries)
    session.add(row)
    await session.flush()
    entries = enumerate(entry_forms(book))

    while rows := await to_thread.run_sync(
        lambda: [_entry_row(runtime, row, *each) for each in islice(entries, PIECE)]
    ):
        await insert_rows(session, LorebookEntry, rows)
    return row


async def update_lorebook(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, patch: PatchLorebook) -> Lorebook:
    """Change what a book says about itself."""
    async with runtime.database.write() as session:
        row = await lorebook_of(session, viewer, lorebook_id, lock=True)
        current = LorebookOut.of(row).model_dump(mode="json")
        advance(row, patch.settings_version, what="lorebook", current=current)
        changes = presentable(patch.model_dump(exclude_unset=True, exclude={"settings_version"}))
        if patch.name is not None:
            row.name = titled(patch.name, NAMELESS)
            changes["name"] = row.name
        if patch.description is not None:
            row.description = storable(patch.description)
        row.data = {**row.data, "fields": {**row.data.get("fields", {}), **changes}}
        row.updated_at = runtime.clock()
        if patch.name is not None:
            await session.flush()
            await append_book_event(session, row.id, row.updated_at)
        return row


async def duplicate_lorebook(runtime: Runtime, viewer: Viewer, lorebook_id: UUID) -> Lorebook:
    """A copy with all entries, used nowhere yet."""
    async with runtime.database.write() as session:
        row = await lorebook_of(session, viewer, lorebook_id)
        name = f"{row.name[:190]} (copy)"
        fields = {**row.data.get("fields", {}), "name": name}
        copy = _row(runtime, viewer.user_id, name, {**row.data, "fields": fields})
        copy.description, copy.entries_count = row.description, row.entries_count
        session.add(copy)
        await session.flush()
        rows: list[dict[str, Any]] = [
            {
                "id": runtime.ids(),
                "lorebook_id": copy.id,
                "uid": entry.uid,
                "position": entry.position,
                "comment": entry.comment,
                "enabled": entry.enabled,
                "constant": entry.constant,
                "data": entry.data,
                "revision": 1,
                "updated_at": copy.updated_at,
            }
            for entry in await all_entries(session, row.id)
        ]
        await insert_rows(session, LorebookEntry, rows)
        return copy


async def delete_lorebook(runtime: Runtime, viewer: Viewer, lorebook_id: UUID) -> None:
    """Delete a book with its entries; wherever it was in use, it is not any more."""
    async with runtime.database.write() as session:
        row = await lorebook_of(session, viewer, lorebook_id, lock=True)
        await append_book_event(session, row.id, runtime.clock())
        await session.execute(delete(Lorebook).where(Lorebook.id == row.id))


async def export_lorebook(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, character_book: bool = False
) -> tuple[str, dict[str, Json]]:
    """The name and the file: SillyTavern's world file, or the `character_book` of a card."""
    async with runtime.database.read() as session:
        row = await lorebook_of(session, viewer, lorebook_id)
        forms = [entry.data for entry in await all_entries(session, row.id)]
        write = as_character_book if character_book else as_world_info
        return row.name, write(row.data, forms)


def entry_columns(entry: Entry) -> dict[str, Any]:
    """The columns that lists of entries show."""
    return {
        "comment": storable(entry.comment or entry.name or ""),
        "enabled": entry.enabled,
        "constant": entry.constant,
    }


def _entry_row(
    runtime: Runtime, book: Lorebook, position: int, entry: tuple[int, dict[str, Json], Entry]
) -> dict[str, Any]:
    uid, form, parsed = entry
    return {
        "id": runtime.ids(),
        "lorebook_id": book.id,
        "uid": uid,
        "position": position,
        "data": form,
        "revision": 1,
        "updated_at": book.updated_at,
        **entry_columns(parsed),
    }


def _row(runtime: Runtime, owner_id: UUID, name: str, data: dict[str, Json]) -> Lorebook:
    now = runtime.clock()
    return Lorebook(
        id=runtime.ids(),
        owner_id=owner_id,
        name=name,
        description="",
        data=data,
        entries_count=0,
        status="ready",
        settings_version=0,
        created_at=now,
        updated_at=now,
    )
