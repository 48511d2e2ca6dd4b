"""What a person does with the entries of a lorebook. Every change counts as one of the book, under its lock."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from sqlalchemy import update

from tavernkit.lore import Entry
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.refused import Refused, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.lorebooks.documents import EntryOut
from tavernkit.playground.story.lorebooks.entry_fields import ORIGINAL_PLACE, decode_entry, new_entry
from tavernkit.playground.story.lorebooks.queries import all_entries, entry_of, last_place, lorebook_of
from tavernkit.playground.story.lorebooks.service import entry_columns
from tavernkit.values import Json, JsonObject

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
        row = _row(runtime, book, form, entry, uid=uid + 1, position=position + 1)
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
            raise stale("entry", EntryOut.of(row).model_dump(mode="json"))
        form = {**row.data, **presentable(data), "uid": row.data.get("uid", row.uid)}
        entry = _understood(form, changed=data)
        _change(row, form, entry)
        row.updated_at = runtime.clock()
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
        copy = _row(runtime, book, form, decode_entry(form)[0], uid=uid + 1, position=position + 1)
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
            raise stale("entry", EntryOut.of(row).model_dump(mode="json"))
        await session.delete(row)
        _count_change(runtime, book, entries=-1)


async def reorder_entries(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, ids: list[UUID]) -> Lorebook:
    """Put these entries into this order, on the places that they hold together; no other entry moves."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        rows = {row.id: row for row in await all_entries(session, book.id, ids)}
        if len(rows) != len(ids):
            raise Refused(
                code="invalid", sentence="The order names an entry twice, or one that is not in this book any more."
            )
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
        raise Refused(code="conflict", sentence=f"The book has {MAX_ENTRIES:,} entries; no more fit into one book.")


def _understood(form: dict[str, Json], *, changed: JsonObject | None = None) -> Entry:
    """The entry, unless a field that somebody has just written makes no sense."""
    size = len(json.dumps(form))
    if size > MAX_ENTRY_CHARACTERS:
        raise Refused(
            code="too_long",
            sentence=f"The entry is {size:,} characters long; at most {MAX_ENTRY_CHARACTERS:,} fit into one.",
        )
    entry, report = decode_entry(form)
    before = () if changed is None else decode_entry({k: v for k, v in form.items() if k not in changed})[1].ignored
    wrong = [note for note in report.ignored if note not in before]
    if wrong:
        field = wrong[0].path.rpartition("].")[2]
        raise Refused(code="invalid", sentence=f"The field {field} of the entry makes no sense: {wrong[0].message}.")
    return entry


def _row(
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


def _change(row: LorebookEntry, form: dict[str, Json], entry: Entry) -> None:
    columns = entry_columns(entry)
    row.data, row.revision = form, row.revision + 1
    row.comment, row.enabled, row.constant = columns["comment"], columns["enabled"], columns["constant"]


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
