"""What a person does with lorebooks and their entries. Every change of an entry counts as one of the book, under its
lock.
"""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.lore import Book, Entry, read_book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.lorebooks.documents import EntryOut, LorebookOut, NewLorebook, PatchLorebook
from tavernkit.playground.story.lorebooks.entry_fields import (
    ORIGINAL_PLACE,
    as_character_book,
    as_world_info,
    book_form,
    decode_entry,
    entry_forms,
    new_entry,
)
from tavernkit.playground.story.lorebooks.links import append_book_event, link_book, places_that_name
from tavernkit.playground.story.lorebooks.queries import all_entries, entry_of, last_place, lorebook_of
from tavernkit.reading import ImportReport, Note
from tavernkit.values import Json, JsonObject

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
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    async with runtime.database.read() as session:
        places = await places_that_name(session, viewer.user_id, titled(book.name or name, NAMELESS))
    async with runtime.database.write() as session:
        row = await store_book(
            runtime, session, viewer.user_id, book, name=name, file_sha256=hashlib.sha256(file).hexdigest()
        )
        linked = await link_book(runtime, session, row.id, row.name, places)
        if linked:
            message = f"linked at {linked} places whose files name this book"
            report = report.with_(notes=(*report.notes, Note(path="name", outcome="exact", message=message)))
        return row, report


async def store_book(
    runtime: Runtime,
    session: AsyncSession,
    owner_id: UUID,
    book: Book,
    *,
    name: str = "",
    file_sha256: str | None = None,
    id: UUID | None = None,
) -> Lorebook:
    """Write a book of the library into this transaction."""
    row = _row(runtime, owner_id, titled(book.name or name, NAMELESS), book_form(book))
    row.id = id or row.id
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
        advance(row, patch.settings_version, what=_("lorebook"), current=LorebookOut.of(row))
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
        data=data,
        created_at=now,
        updated_at=now,
    )


MAX_ENTRIES = 50_000
MAX_ENTRY_CHARACTERS = 500_000


async def add_entry(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, data: JsonObject) -> LorebookEntry:
    """A new entry at the end of the book, with SillyTavern's defaults for what is not given."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        _check_room(book)
        uid, position = await last_place(session, book.id)
        form = new_entry(uid + 1, position + 1, presentable(data))
        entry = _understood(form)
        row = _added_entry(runtime, book, form, entry, uid=uid + 1, position=position + 1)
        session.add(row)
        _count_change(runtime, book, entries=1)
        return row


async def update_entry(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, entry_id: UUID, *, revision: int, data: JsonObject
) -> LorebookEntry:
    """Change some fields of an entry; who saw an older revision is shown the current one instead."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        row = await entry_of(session, book, entry_id)
        if row.revision != revision:
            raise stale(_("entry"), EntryOut.of(row))
        form = {**row.data, **presentable(data), "uid": row.data.get("uid", row.uid)}
        entry = _understood(form, changed=data)
        row.data, row.revision, row.updated_at = form, row.revision + 1, runtime.clock()
        for column, value in entry_columns(entry).items():
            setattr(row, column, value)
        _count_change(runtime, book)
        return row


async def duplicate_entry(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, entry_id: UUID) -> LorebookEntry:
    """A copy at the end of the book."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        row = await entry_of(session, book, entry_id)
        _check_room(book)
        uid, position = await last_place(session, book.id)
        form = {**row.data, "uid": uid + 1, "displayIndex": position + 1}
        form.pop(ORIGINAL_PLACE, None)
        copy = _added_entry(runtime, book, form, decode_entry(form)[0], uid=uid + 1, position=position + 1)
        session.add(copy)
        _count_change(runtime, book, entries=1)
        return copy


async def delete_entry(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, entry_id: UUID, *, revision: int | None = None
) -> None:
    """Take an entry out of the book; with a revision, only if it is still that one."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        row = await entry_of(session, book, entry_id)
        if revision is not None and row.revision != revision:
            raise stale(_("entry"), EntryOut.of(row))
        await session.delete(row)
        _count_change(runtime, book, entries=-1)


async def reorder_entries(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, ids: list[UUID]) -> Lorebook:
    """Put these entries into this order, on the places that they hold together; no other entry moves."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        rows = {row.id: row for row in await all_entries(session, book.id, ids)}
        if len(rows) != len(ids):
            raise Refused("invalid", _("The order names an entry twice, or one that is not in this lorebook."))
        places = sorted(row.position for row in rows.values())
        moved: list[dict[str, Any]] = [
            {"id": id, "position": place, "data": {**rows[id].data, "displayIndex": place}}
            for id, place in zip(ids, places, strict=True)
            if rows[id].position != place
        ]
        if moved:
            await session.execute(update(LorebookEntry), moved)
            _count_change(runtime, book)
        return book


async def toggle_entries(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, enabled: bool, ids: list[UUID] | None = None
) -> tuple[int, Lorebook]:
    """Switch all entries of the book, or some, on or off; the number is of those that were not yet."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        now = runtime.clock()
        changed: list[dict[str, Any]] = [
            {
                "id": row.id,
                "enabled": enabled,
                "data": {**row.data, "disable": not enabled},
                "revision": row.revision + 1,
                "updated_at": now,
            }
            for row in await all_entries(session, book.id, ids)
            if row.enabled != enabled
        ]
        if changed:
            await session.execute(update(LorebookEntry), changed)
            _count_change(runtime, book)
        return len(changed), book


def _check_room(book: Lorebook) -> None:
    if book.entries_count >= MAX_ENTRIES:
        raise Refused("conflict", _("The lorebook is full. The limit is {limit} entries.", limit=MAX_ENTRIES))


def _understood(form: dict[str, Json], *, changed: JsonObject | None = None) -> Entry:
    """The entry, unless a field that somebody has just written makes no sense."""
    size = len(json.dumps(form))
    if size > MAX_ENTRY_CHARACTERS:
        raise Refused(
            "too_long",
            _(
                "The entry has {size} characters. The limit is {limit}. Shorten it.",
                size=size,
                limit=MAX_ENTRY_CHARACTERS,
            ),
        )
    entry, report = decode_entry(form)
    before = () if changed is None else decode_entry({k: v for k, v in form.items() if k not in changed})[1].ignored
    wrong = [note for note in report.ignored if note not in before]
    if wrong:
        field = wrong[0].path.rpartition("].")[2]
        raise Refused(
            "invalid",
            _("The field {field} of the entry is not valid: {reason}.", field=field, reason=wrong[0].message),
        )
    return entry


def _added_entry(
    runtime: Runtime, book: Lorebook, form: dict[str, Json], entry: Entry, *, uid: int, position: int
) -> LorebookEntry:
    return LorebookEntry(
        id=runtime.ids(),
        lorebook_id=book.id,
        uid=uid,
        position=position,
        data=form,
        revision=1,
        updated_at=runtime.clock(),
        **entry_columns(entry),
    )


def _count_change(runtime: Runtime, book: Lorebook, *, entries: int = 0) -> None:
    """The book is another one now, so nobody uses what was decoded before.

    `originalData` goes: SillyTavern would put it into cards in place of the entries that were changed.
    """
    book.settings_version += 1
    book.entries_count += entries
    book.updated_at = runtime.clock()
    unknown = book.data.get("unknown", {})
    if "originalData" in unknown:
        kept = {key: value for key, value in unknown.items() if key != "originalData"}
        book.data = {**book.data, "unknown": kept}
