"""What a person does with lorebooks and their entries. Every change of an entry counts as one of the book, under its
lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
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
from tavernkit.playground.story.lorebooks.documents import BulkChange, EntryOut, LorebookOut, NewLorebook, PatchLorebook
from tavernkit.playground.story.lorebooks.entry_fields import (
    REORDERED,
    as_character_book,
    as_world_info,
    book_form,
    decode_entry,
    entry_forms,
    form_in_book,
    new_entry,
    without_fields,
)
from tavernkit.playground.story.lorebooks.links import append_book_event, link_book, places_that_name
from tavernkit.playground.story.lorebooks.queries import (
    all_entries,
    entry_of,
    last_place,
    lorebook_of,
    places_in_order,
    usable_lorebook,
)
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import ImportReport, Note
from tavernkit.sillytavern.world_info.fields import Position
from tavernkit.values import Json, JsonObject

MAX_FILE_BYTES = 16 * 1024 * 1024
NAMELESS = "Lorebook"
PIECE = 500


async def create_lorebook(runtime: Runtime, viewer: Viewer, new: NewLorebook) -> Lorebook:
    """An empty book, used at once where a card, a chat or a persona names it."""
    name = titled(new.name, NAMELESS)
    async with runtime.database.write() as session:
        fields: dict[str, Json] = {"name": name}
        if new.description:
            fields["description"] = new.description
        book = _row(runtime, viewer.user_id, name, {"format": "world_info", "fields": fields, "unknown": {}})
        book.description = storable(new.description)
        session.add(book)
        await session.flush()
        await link_book(runtime, session, book.id, name, await places_that_name(session, viewer.user_id, name))
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
    called = titled(book.name or name, NAMELESS)
    async with runtime.database.read() as session:
        places = await places_that_name(session, viewer.user_id, called)
    async with runtime.database.write() as session:
        row = await store_book(
            runtime, session, viewer.user_id, book, name=called, file_sha256=hashlib.sha256(file).hexdigest()
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
    name: str,
    file_sha256: str | None = None,
    id: UUID | None = None,
) -> Lorebook:
    """Write a book of the library into this transaction."""
    row = _row(runtime, owner_id, titled(name, NAMELESS), {})
    row.id = id or row.id
    session.add(row)
    await _write_book(runtime, session, row, book, file_sha256)
    return row


async def replace_book(runtime: Runtime, session: AsyncSession, row: Lorebook, book: Book, *, file_sha256: str) -> None:
    """Let a book, which must be locked, say what another one says; it keeps its name and is used where it was."""
    await session.execute(
        delete(LorebookEntry).where(LorebookEntry.lorebook_id == row.id),
        execution_options={"synchronize_session": False},
    )
    row.settings_version += 1
    row.updated_at = runtime.clock()
    await _write_book(runtime, session, row, book, file_sha256)
    await append_book_event(session, row.id, row.updated_at)


async def _write_book(
    runtime: Runtime, session: AsyncSession, row: Lorebook, book: Book, file_sha256: str | None
) -> None:
    row.data = book_form(book)
    row.description = storable(book.description or "")
    row.file_sha256 = file_sha256
    row.entries_count = len(book.entries)
    await session.flush()
    entries = enumerate(entry_forms(book))

    while rows := await to_thread.run_sync(
        lambda: [_entry_row(runtime, row, *each) for each in islice(entries, PIECE)]
    ):
        await insert_rows(session, LorebookEntry, rows)


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
        fields = {**row.data.get("fields", {}), **changes}
        # Null is what a file says that does not name the field.
        row.data = {**row.data, "fields": {k: v for k, v in fields.items() if v is not None or k not in changes}}
        row.updated_at = runtime.clock()
        if patch.name is not None:
            await session.flush()
            await append_book_event(session, row.id, row.updated_at)
        return row


async def duplicate_lorebook(runtime: Runtime, viewer: Viewer, lorebook_id: UUID) -> Lorebook:
    """A copy with all entries, used nowhere yet."""
    async with runtime.database.write() as session:
        row = await usable_lorebook(session, viewer, lorebook_id)
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
                **_copied_columns(entry),
                "data": entry.data,
                "revision": 1,
                "updated_at": copy.updated_at,
            }
            for entry in await all_entries(session, row.id)
        ]
        await insert_rows(session, LorebookEntry, rows)
        return copy


async def delete_lorebook(runtime: Runtime, viewer: Viewer, lorebook_id: UUID) -> None:
    """Put a book into the trash; wherever it was in use, it is not any more, until it is restored."""
    async with runtime.database.write() as session:
        row = await lorebook_of(session, viewer, lorebook_id, lock=True)
        await append_book_event(session, row.id, runtime.clock())
        row.status, row.trashed_at = "deleting", await time_in_trash(session, runtime, viewer)


async def export_lorebook(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, character_book: bool = False
) -> tuple[str, dict[str, Json]]:
    """The name and the file: SillyTavern's world file, or the `character_book` of a card."""
    async with runtime.database.read() as session:
        row = await usable_lorebook(session, viewer, lorebook_id)
        return row.name, await written_book(session, row, character_book=character_book)


async def written_book(session: AsyncSession, row: Lorebook, *, character_book: bool = False) -> dict[str, Json]:
    """A book as SillyTavern's world file, or as the `character_book` of a card."""
    forms = [entry.data for entry in await all_entries(session, row.id)]
    return (as_character_book if character_book else as_world_info)(row.data, forms)


def entry_columns(entry: Entry) -> dict[str, Any]:
    """The columns that lists of entries show and are filtered by."""
    comment = storable(entry.comment or entry.name or "")
    return {
        "comment": comment,
        "enabled": entry.enabled,
        "constant": entry.constant,
        "insertion_position": _insertion_position(entry),
        "search_text": storable("\n".join((comment, *entry.keys, *entry.secondary_keys, entry.content))).casefold(),
        "tokens": default_estimator().estimate(entry.content),
    }


def _insertion_position(entry: Entry) -> int:
    number = entry.extensions.get("position")
    if isinstance(number, int) and 0 <= number < 2**31:
        return number
    return Position.BEFORE_CHARACTER if entry.position == "before_char" else Position.AFTER_CHARACTER


async def count_tokens(runtime: Runtime, viewer: Viewer, lorebook_id: UUID) -> None:
    """Count the tokens of entries that an earlier version has written."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        rows = [row for row in await all_entries(session, book.id) if row.tokens is None]
        counted = await to_thread.run_sync(
            lambda: [{"id": row.id, "tokens": entry_columns(decode_entry(row.data)[0])["tokens"]} for row in rows]
        )
        if counted:
            await session.execute(update(LorebookEntry), counted)


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
    runtime: Runtime,
    viewer: Viewer,
    lorebook_id: UUID,
    entry_id: UUID,
    *,
    revision: int,
    data: JsonObject,
    removed: Collection[str] = (),
) -> LorebookEntry:
    """Change some fields of an entry; who saw an older revision is shown the current one instead."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        row = await entry_of(session, book, entry_id)
        if row.revision != revision:
            raise stale(_("entry"), EntryOut.of(row))
        form = {**without_fields(row.data, removed), **presentable(data), "uid": row.data.get("uid", row.uid)}
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
        form = form_in_book(row.data, book.data, uid=uid + 1, place=position + 1)
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
        there = dict(await places_in_order(session, book.id))
        if len(set(ids)) != len(ids) or not there.keys() >= set(ids):
            raise Refused("invalid", _("The order names an entry twice, or one that is not in this lorebook."))
        moved = dict(zip(sorted(ids, key=lambda id: there[id]), ids, strict=True))
        await _put_in_order(runtime, session, book, [(moved.get(id, id)) for id in there], there)
        return book


async def move_entry(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, entry_id: UUID, *, behind: UUID | None, before: UUID | None
) -> Lorebook:
    """Put an entry right behind another one, or right before it; others may stand between the two that are named."""
    async with runtime.database.write() as session:
        book = await lorebook_of(session, viewer, lorebook_id, lock=True)
        there = dict(await places_in_order(session, book.id))
        neighbours = [id for id in (behind, before) if id not in (None, entry_id)]
        if not {entry_id, *neighbours} <= there.keys():
            raise Refused("invalid", _("An entry that was moved is not in this lorebook any more. Reload the page."))
        if not neighbours:
            return book
        order = [id for id in there if id != entry_id]
        # Next to the one that it has passed.
        if neighbours[0] == behind and (len(neighbours) == 1 or there[behind] > there[entry_id]):
            order.insert(order.index(behind) + 1, entry_id)
        else:
            order.insert(order.index(neighbours[-1]), entry_id)
        await _put_in_order(runtime, session, book, order, there)
        return book


async def _put_in_order(
    runtime: Runtime, session: AsyncSession, book: Lorebook, order: Sequence[UUID], there: Mapping[UUID, int]
) -> None:
    """Give all entries of a book the places of `there` in another order."""
    moved: list[dict[str, Any]] = [
        {"id": id, "position": place} for id, place in zip(order, there.values(), strict=True) if there[id] != place
    ]
    if moved:
        await session.execute(update(LorebookEntry), moved)
        book.data = {**book.data, REORDERED: True}
        _count_change(runtime, book)


async def toggle_entries(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, enabled: bool, ids: list[UUID] | None = None
) -> tuple[int, Lorebook]:
    """Switch all entries of the book, or some, on or off; the number is of those that were not yet."""
    change = BulkChange(action="enable" if enabled else "disable", ids=ids)
    return await change_entries(runtime, viewer, lorebook_id, change)


async def change_entries(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, change: BulkChange
) -> tuple[int, Lorebook]:
    """Change many entries at once, or none of them; the number is of those that are different now."""
    async with runtime.database.write() as session:
        books = {lorebook_id, *([change.lorebook_id] if change.lorebook_id and change.action in TO_BOOKS else [])}
        # In one order, so that two people who move entries to and fro do not wait for each other.
        locked = {id: await lorebook_of(session, viewer, id, lock=True) for id in sorted(books)}
        book = locked[lorebook_id]
        rows = await all_entries(session, book.id, change.ids, change)
        if change.ids is not None and len(rows) != len(set(change.ids)):
            raise Refused("invalid", _("A selected entry is not in this lorebook any more. Reload the page."))
        match change.action:
            case "enable" | "disable":
                enabled = change.action == "enable"
                wrong = [row for row in rows if row.enabled != enabled]
                count = await _set_fields(runtime, session, wrong, {"disable": not enabled}, {"enabled": enabled})
            case "set":
                count = await _set_fields(runtime, session, rows, *_fields_to_set(change))
            case "place":
                return await _place_together(runtime, session, book, [row.id for row in rows], change.to), book
            case "delete":
                await _delete_rows(session, book, rows)
                count = len(rows)
            case "move" | "copy":
                if change.lorebook_id is None or change.lorebook_id == lorebook_id:
                    raise Refused("invalid", _("Choose another lorebook."))
                count = await _add_to_book(runtime, session, locked[change.lorebook_id], rows)
                if change.action == "copy":
                    return count, book
                await _delete_rows(session, book, rows)
        if count:
            gone = count if change.action in ("delete", "move") else 0
            _count_change(runtime, book, entries=-gone)
        return count, book


TO_BOOKS = ("move", "copy")


async def _set_fields(
    runtime: Runtime, session: AsyncSession, rows: Sequence[LorebookEntry], fields: JsonObject, columns: JsonObject
) -> int:
    """Write these fields into entries, and these columns; the number is of those that said something else."""
    now = runtime.clock()
    changed: list[dict[str, Any]] = [
        {"id": row.id, **columns, "data": {**row.data, **fields}, "revision": row.revision + 1, "updated_at": now}
        for row in rows
        if any(name not in row.data or row.data[name] != value for name, value in fields.items())
    ]
    if changed:
        await session.execute(update(LorebookEntry), changed)
    return len(changed)


def _fields_to_set(change: BulkChange) -> tuple[dict[str, Json], dict[str, Json]]:
    named = {"position": change.set_position, "order": change.set_order, "depth": change.set_depth}
    fields: dict[str, Json] = {name: value for name, value in named.items() if value is not None}
    if not fields:
        raise Refused("invalid", _("Give a position, an order or a depth."))
    return fields, {} if change.set_position is None else {"insertion_position": change.set_position}


async def _place_together(
    runtime: Runtime, session: AsyncSession, book: Lorebook, ids: list[UUID], to: int | None
) -> int:
    """Put entries behind each other, the first of them on this place of the list."""
    if to is None:
        raise Refused("invalid", _("Give a place in the list."))
    there = dict(await places_in_order(session, book.id))
    moved = set(ids)
    order = [id for id in there if id not in moved]
    order[to - 1 : to - 1] = ids
    await _put_in_order(runtime, session, book, order, there)
    return len(ids)


async def _delete_rows(session: AsyncSession, book: Lorebook, rows: Sequence[LorebookEntry]) -> None:
    for start in range(0, len(rows), PIECE):
        ids = [row.id for row in rows[start : start + PIECE]]
        await session.execute(
            delete(LorebookEntry).where(LorebookEntry.lorebook_id == book.id, LorebookEntry.id.in_(ids)),
            execution_options={"synchronize_session": False},
        )


async def _add_to_book(runtime: Runtime, session: AsyncSession, book: Lorebook, rows: Sequence[LorebookEntry]) -> int:
    """Copies of these entries at the end of a book."""
    _check_room(book, len(rows))
    uid, position = await last_place(session, book.id)
    now = runtime.clock()
    copies: list[dict[str, Any]] = [
        {
            "id": runtime.ids(),
            "lorebook_id": book.id,
            "uid": uid + number,
            "position": position + number,
            **_copied_columns(row),
            "data": form_in_book(row.data, book.data, uid=uid + number, place=position + number),
            "revision": 1,
            "updated_at": now,
        }
        for number, row in enumerate(rows, start=1)
    ]
    for start in range(0, len(copies), PIECE):
        await insert_rows(session, LorebookEntry, copies[start : start + PIECE])
    if copies:
        _count_change(runtime, book, entries=len(copies))
    return len(copies)


def _copied_columns(row: LorebookEntry) -> dict[str, Any]:
    names = ("comment", "enabled", "constant", "insertion_position", "search_text", "tokens")
    return {name: getattr(row, name) for name in names}


def _check_room(book: Lorebook, entries: int = 1) -> None:
    if book.entries_count + entries > MAX_ENTRIES:
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
