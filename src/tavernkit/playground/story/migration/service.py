"""What a person does with an import: sending files, scanning, choosing, importing, pausing, discarding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import UUID

from msgspec import to_builtins
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import FolderImport, ImportItem
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.jobs.service import announce_job, enqueue_job, request_cancel
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.kept import is_kept, keep
from tavernkit.playground.story.migration.passwords import OPENED, opened_with, password_state
from tavernkit.playground.story.migration.queries import import_of
from tavernkit.playground.story.migration.steps import IMPORT_KIND, RECEIVED, SCAN_KIND, SCANNED, STATUS_OF
from tavernkit.playground.story.migration.uploads import (
    SentFile,
    checked_path,
    has_arrived,
    move_into,
    place_of,
    remove_upload,
    size_at,
    too_many_bytes,
    upload_folder,
    write_incoming,
)

ItemChoice: TypeAlias = Literal["skip", "keep", "replace", "both"]

NAMELESS = "Import"
MAX_NAME = 300
WAITING = ("scanned", "paused", "failed")


async def begin_import(runtime: Runtime, viewer: Viewer, *, name: str) -> FolderImport:
    """An import whose files are sent next."""
    async with runtime.database.write() as session:
        row = _row(runtime, viewer, name, status="receiving", is_uploaded=True)
        row.place = str(upload_folder(runtime.settings, row.id).absolute())
        session.add(row)
        return row


async def receive_file(
    runtime: Runtime,
    viewer: Viewer,
    import_id: UUID,
    path: str,
    pieces: AsyncIterator[bytes],
    *,
    modified: datetime | None = None,
) -> int:
    """Store a file of the folder as it comes; how many bytes it has. The same path again replaces what was sent.
    `modified` is when it was changed last where it comes from."""
    names = checked_path(path)
    folder = upload_folder(runtime.settings, import_id)
    async with runtime.database.read() as session:
        row = await import_of(session, viewer, import_id)
        _require_receiving(row)
        room = runtime.settings.import_bytes - row.summary.get(RECEIVED, {}).get("bytes", 0)
    incoming, size = await write_incoming(folder, str(runtime.ids()), pieces, room)
    try:
        async with runtime.database.write() as session:
            row = await import_of(session, viewer, import_id, lock=True)
            _require_receiving(row)
            before = await asyncio.to_thread(size_at, folder, names)
            row.summary = {**row.summary, RECEIVED: _counted(runtime, row, size, before)}
            row.updated_at = runtime.clock()
            await asyncio.to_thread(move_into, folder, names, incoming, modified)
    finally:
        await asyncio.to_thread(incoming.unlink, missing_ok=True)
    return size


async def missing_files(runtime: Runtime, viewer: Viewer, import_id: UUID, files: Sequence[SentFile]) -> list[SentFile]:
    """Those of these files that have not arrived yet, so that an upload that was left goes on."""
    async with runtime.database.read() as session:
        _require_receiving(await import_of(session, viewer, import_id))
    folder = upload_folder(runtime.settings, import_id)
    return await asyncio.to_thread(lambda: [file for file in files if not has_arrived(folder, file)])


def _require_receiving(row: FolderImport) -> None:
    if row.status != "receiving" or not row.is_uploaded:
        raise Refused("conflict", _("This import receives no more files. Begin another one."))


def _counted(runtime: Runtime, row: FolderImport, size: int, before: int | None) -> dict[str, int]:
    """How many files and bytes have arrived with this one, if that is not too much."""
    received = row.summary.get(RECEIVED, {})
    files = received.get("files", 0) + (before is None)
    total = received.get("bytes", 0) + size - (before or 0)
    limit = runtime.settings.import_files
    if files > limit:
        raise Refused("too_large", _("An upload has at most {limit} files. Send the folder as a ZIP.", limit=limit))
    if total > runtime.settings.import_bytes:
        raise too_many_bytes()
    return {"files": files, "bytes": total}


async def import_from_path(runtime: Runtime, viewer: Viewer, place: Path) -> FolderImport:
    """An import of a folder or file on this machine, which is scanned at once."""
    place = place.absolute()
    if not place.exists():
        raise Refused("not_found", _("{place} does not exist.", place=str(place)))
    async with runtime.database.write() as session:
        row = _row(runtime, viewer, place.name, place=str(place))
        session.add(row)
        await _enqueue(session, runtime, row, SCAN_KIND)
        return row


async def start_scan(runtime: Runtime, viewer: Viewer, import_id: UUID) -> FolderImport:
    """Look through the files, also once more, as long as nothing has been imported."""
    async with runtime.database.write() as session:
        row = await import_of(session, viewer, import_id, lock=True)
        if row.status not in ("receiving", *WAITING):
            raise Refused("conflict", _("This import is at work or has ended. Begin another one."))
        if row.choices:
            raise Refused("conflict", _("Some files have been imported already. Begin another import to scan again."))
        if row.is_uploaded:
            folder = upload_folder(runtime.settings, row.id).absolute()
            row.place = str(await asyncio.to_thread(place_of, folder))
        row.summary = {key: value for key, value in row.summary.items() if key == RECEIVED}
        await _enqueue(session, runtime, row, SCAN_KIND)
        return row


async def choose_for_item(
    runtime: Runtime, viewer: Viewer, import_id: UUID, position: int, choice: ItemChoice | None
) -> ImportItem:
    """Decide about one file, otherwise than about all; None is as about all."""
    async with runtime.database.write() as session:
        row = await import_of(session, viewer, import_id, lock=True)
        item = existing(await session.get(ImportItem, (row.id, position)), _("file"))
        if row.status not in WAITING or item.verdict is not None:
            raise Refused("conflict", _("Nothing can be chosen for this file any more."))
        item.choice = choice
        return item


async def item_of(runtime: Runtime, viewer: Viewer, import_id: UUID, position: int) -> ImportItem:
    """One file of an import."""
    async with runtime.database.read() as session:
        row = await import_of(session, viewer, import_id)
        return existing(await session.get(ImportItem, (row.id, position)), _("file"))


async def open_item(runtime: Runtime, viewer: Viewer, import_id: UUID, position: int, password: str) -> ImportItem:
    """Open a file that is encrypted with a password, for the import to come. The password is not kept."""
    async with runtime.database.read() as session:
        row = await import_of(session, viewer, import_id)
        item = _to_be_opened(row, await session.get(ImportItem, (row.id, position)))
    kept = await asyncio.to_thread(opened_with, row, item, password)
    async with runtime.database.write() as session:
        row = await import_of(session, viewer, import_id, lock=True)
        item = _to_be_opened(row, await session.get(ImportItem, (row.id, position)))
        await keep(session, kept, runtime.clock(), is_known=await is_kept(session, kept.sha256))
        item.plan = {**item.plan, OPENED: kept.sha256}
        return item


def _to_be_opened(row: FolderImport, found: ImportItem | None) -> ImportItem:
    item = existing(found, _("file"))
    if row.status not in WAITING or item.verdict is not None:
        raise Refused("conflict", _("Nothing can be chosen for this file any more."))
    if password_state(item.plan) is None:
        raise Refused("invalid", _("This file needs no password."))
    return item


async def start_import(runtime: Runtime, viewer: Viewer, import_id: UUID, choices: ImportChoices) -> FolderImport:
    """Import what was scanned, or go on with what is left."""
    async with runtime.database.write() as session:
        row = await import_of(session, viewer, import_id, lock=True)
        if row.status not in WAITING or SCANNED not in row.summary:
            raise Refused("conflict", _("This import cannot be started now. Scan its files first."))
        row.choices = to_builtins(choices)
        total = await session.scalar(select(func.count()).where(ImportItem.import_id == row.id))
        await _enqueue(session, runtime, row, IMPORT_KIND, total=total or 0)
        return row


async def pause_import(runtime: Runtime, viewer: Viewer, import_id: UUID) -> FolderImport:
    """Stop after what is just being written; `start_import` goes on behind it."""
    async with runtime.database.write() as session:
        row = await import_of(session, viewer, import_id, lock=True)
        if row.status == "paused":
            return row
        if row.status != "importing":
            raise Refused("conflict", _("Only an import that is at work can be paused."))
        _end(runtime, session, row, "paused")
    await _cancel(runtime, viewer, row)
    return row


async def discard_import(runtime: Runtime, viewer: Viewer, import_id: UUID) -> None:
    """End an import for good; what it has imported stays, and so does its report."""
    async with runtime.database.write() as session:
        row = await import_of(session, viewer, import_id, lock=True)
        if row.status not in ("done", "discarded"):
            _end(runtime, session, row, "discarded")
            row.finished_at = row.updated_at
    await _cancel(runtime, viewer, row)
    if row.is_uploaded:
        await asyncio.to_thread(remove_upload, upload_folder(runtime.settings, row.id))


def _row(runtime: Runtime, viewer: Viewer, name: str, **fields: Any) -> FolderImport:
    now = runtime.clock()
    return FolderImport(
        id=runtime.ids(),
        owner_id=viewer.user_id,
        name=titled(name, NAMELESS, limit=MAX_NAME),
        choices={},
        summary={},
        created_at=now,
        updated_at=now,
        **fields,
    )


async def _enqueue(session: AsyncSession, runtime: Runtime, row: FolderImport, kind: str, *, total: int = 0) -> None:
    """Have a worker go on with the import; whoever was at work on it stops."""
    payload = {"import_id": str(row.id)}
    job = await enqueue_job(session, runtime, kind=kind, owner_id=row.owner_id, payload=payload, total=total)
    row.job_id, row.status, row.error, row.updated_at = job.id, STATUS_OF[kind], None, runtime.clock()


def _end(runtime: Runtime, session: AsyncSession, row: FolderImport, status: str) -> None:
    row.status, row.updated_at = status, runtime.clock()
    if row.job_id is not None:
        announce_job(session, row.job_id, row.owner_id)


async def _cancel(runtime: Runtime, viewer: Viewer, row: FolderImport) -> None:
    """In a transaction of its own: the worker locks its job before the import."""
    async with runtime.database.read() as session:
        job = None if row.job_id is None else await find_job(session, row.job_id, viewer)
    if job is not None and job.status in ("queued", "running"):
        await request_cancel(runtime, viewer, job.id)
