"""Removing what is not kept any longer: what has been in the trash for long enough, old prompts, events, jobs and
versions; and what nothing refers to any more: texts that were edited away, blocks of prompts that are gone, bytes of
files whose job has ended, pictures that were removed or never sent, files of imports that nobody goes on with.

All of it goes in small transactions, each of which leaves the database whole: whoever is killed in between has removed
less, and the next sweep removes the rest.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Select, and_, delete, exists, func, or_, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.blobs.store import is_unused, remove_unused
from tavernkit.playground.base.database.fulltext.rebuilding import merge_pieces
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    CharacterVersion,
    Conversation,
    FolderImport,
    ImportedFile,
    ImportItem,
    ImportSource,
    Job,
    JobFile,
    KeptFile,
    Lorebook,
    Message,
    MessagePicture,
    MessageSwipe,
    OutboxEvent,
    Persona,
    Preset,
    PromptSnapshot,
    QuickReplySet,
    ReplyStream,
    SiteSetting,
    Space,
    TextContent,
)
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.conversations.service import remove_unused_texts
from tavernkit.playground.story.prompting.records import note_removed_prompts
from tavernkit.playground.story.prompting.unused import remove_unused_blocks
from tavernkit.playground.story.retention import read_retention
from tavernkit.playground.story.trash.purging import purge

KEPT_EVENTS = 50
"""So many events of each conversation stay, however old: a page that missed more is refreshed as a whole."""

KEPT_FOR = timedelta(days=1)
"""How long the bytes of an imported file may wait for what refers to them."""
AT_ONCE = 500
ASKED = timedelta(days=7)
FILES_AT_ONCE = 20
UNSENT_FOR = timedelta(days=30)
"""How long a picture that was put into a draft waits to be sent."""
UPLOAD_KEPT = timedelta(days=7)
"""How long the files of an import wait until somebody goes on with it."""
OVER = ("done", "discarded")

log = logging.getLogger(__name__)


LAST_SWEEP = "last_sweep"
"""The setting under which the report of the last sweep that has removed anything stands."""


async def sweep(runtime: Runtime, until: asyncio.Event) -> dict[str, int]:
    """Remove everything that is not kept any longer, or as much as can be removed until an event happens; how much of
    what that was."""
    async with runtime.database.read() as session:
        retention = await read_retention(session)
    gone = await purge(runtime, until)
    removed = {
        **{f"{kind}s": count for kind, count in gone.items()},
        "prompts": await _remove_prompts(runtime, until, retention.prompt_days),
        "streams": await _remove_streams(runtime, until, retention.stream_days),
        "versions": await _remove_versions(runtime, until, retention.version_days),
        "jobs": await _remove_jobs(runtime, until, retention.job_days),
        "texts": await _remove_texts(runtime, until),
        "events": await _remove_events(runtime, until, timedelta(days=retention.event_days)),
        "prompt_blocks": await remove_unused_blocks(runtime, until),
        "job_files": await _remove_file_bytes(runtime, until),
        "unsent_pictures": await _remove_unsent(runtime, until),
        "imports": await _remove_imports(runtime, until),
        "imported_files": await _remove_imported(runtime, until, timedelta(days=retention.trash_days)),
        "kept_files": await _remove_kept(runtime, until),
        "blobs": await _remove_blobs(runtime, until),
    }
    if removed["texts"] or any(gone.values()):
        await merge_pieces(runtime.database, until)
    if any(removed.values()):
        log.info("Removed what is not kept any longer: %s", removed)
        # Of two who report for the first time at the same moment, one does.
        with suppress(IntegrityError):
            async with runtime.database.write() as session:
                report = SiteSetting(key=LAST_SWEEP, value={"removed": removed}, updated_at=runtime.clock())
                await session.merge(report)
    # In each sweep: a reader may have kept the last one from it.
    await runtime.database.empty_log()
    return removed


async def sweep_as_job(work: JobWork) -> dict[str, Any]:
    """The job: a sweep that somebody has asked for."""
    removed = await sweep(work.runtime, work.stopping)
    work.check()
    return removed


async def purge_as_job(work: JobWork) -> dict[str, Any]:
    """The job: removing what was just deleted for good. What nothing refers to then waits for the next sweep."""
    removed = await purge(work.runtime, work.stopping)
    work.check()
    return removed


async def _remove_prompts(runtime: Runtime, until: asyncio.Event, days: int | None) -> int:
    """The prompts of runs; the blocks that they were made of go behind them."""
    if days is None:
        return 0
    old = select(PromptSnapshot.run_id).where(PromptSnapshot.created_at < runtime.clock() - timedelta(days=days))
    return await _remove_rows(runtime, until, old, PromptSnapshot.run_id, then=note_removed_prompts)


async def _remove_streams(runtime: Runtime, until: asyncio.Event, days: int | None) -> int:
    """What providers sent, where it was recorded."""
    if days is None:
        return 0
    old = select(ReplyStream.run_id).where(ReplyStream.created_at < runtime.clock() - timedelta(days=days))
    return await _remove_rows(runtime, until, old, ReplyStream.run_id)


async def _remove_versions(runtime: Runtime, until: asyncio.Event, days: int | None) -> int:
    if days is None:
        return 0
    old = CharacterVersion.created_at < runtime.clock() - timedelta(days=days)
    return await _remove_rows(runtime, until, select(CharacterVersion.id).where(old), CharacterVersion.id)


async def _remove_jobs(runtime: Runtime, until: asyncio.Event, days: int | None) -> int:
    """Jobs that have ended, but for those whose import goes on."""
    if days is None:
        return 0
    before = runtime.clock() - timedelta(days=days)
    goes_on = select(FolderImport.job_id).where(FolderImport.job_id.is_not(None), FolderImport.status.not_in(OVER))
    old = select(Job.id).where(Job.finished_at < before, Job.id.not_in(goes_on))
    removed = await _remove_rows(runtime, until, old, Job.id)
    # Without a source, nothing was imported.
    left = (FolderImport.status.in_(OVER), FolderImport.source_id.is_(None), FolderImport.updated_at < before)
    await _remove_rows(runtime, until, select(FolderImport.id).where(*left), FolderImport.id)
    return removed


async def _remove_rows(
    runtime: Runtime,
    until: asyncio.Event,
    query: Select[UUID],
    key: InstrumentedAttribute[UUID],
    *,
    then: Callable[[AsyncSession], Awaitable[None]] | None = None,
) -> int:
    """Remove the rows that a query finds by their key, some at a time."""
    removed = 0
    while not until.is_set():
        async with runtime.database.write() as session:
            ids = (await session.scalars(query.limit(AT_ONCE))).all()
            gone = delete(key.class_).where(key.in_(ids))
            await session.execute(gone, execution_options={"synchronize_session": False})
            if ids and then is not None:
                await then(session)
        removed += len(ids)
        if len(ids) < AT_ONCE:
            break
    return removed


async def _remove_texts(runtime: Runtime, until: asyncio.Event) -> int:
    """Texts come into the database in the transaction of what refers to them, so an unused one is never a new one."""
    removed, after = 0, UUID(int=0)
    while not until.is_set():
        page = select(TextContent.id).where(TextContent.id > after).order_by(TextContent.id).limit(AT_ONCE)
        of_messages = select(Message.text_id).where(Message.text_id == TextContent.id)
        of_swipes = select(MessageSwipe.text_id).where(MessageSwipe.text_id == TextContent.id)
        async with runtime.database.read() as session:
            ids = (await session.scalars(page)).all()
            unused = (
                await session.scalars(
                    select(TextContent.id).where(TextContent.id.in_(ids), ~of_messages.exists(), ~of_swipes.exists())
                )
            ).all()
        if not ids:
            break
        after = ids[-1]
        if unused:
            async with runtime.database.write() as session:
                # A branch that is being made locks the texts that it shares. One that could be locked is looked at
                # again, by a statement that sees what was committed until then.
                query = select(TextContent.id).where(TextContent.id.in_(unused)).order_by(TextContent.id)
                locked = (await session.scalars(query.with_for_update(skip_locked=True))).all()
                removed += await remove_unused_texts(session, locked)
    return removed


async def _remove_events(runtime: Runtime, until: asyncio.Event, period: timedelta) -> int:
    before = runtime.clock() - period
    first = (
        select(func.min(OutboxEvent.seq))
        .where(OutboxEvent.conversation_id == Conversation.id)
        .correlate(Conversation)
        .scalar_subquery()
    )
    is_first = and_(OutboxEvent.conversation_id == Conversation.id, OutboxEvent.seq == first)
    old = (
        select(Conversation.id, OutboxEvent.seq, Conversation.last_event)
        .join(OutboxEvent, is_first)
        .where(OutboxEvent.seq <= Conversation.last_event - KEPT_EVENTS, OutboxEvent.created_at < before)
        .limit(AT_ONCE)
    )
    removed = 0
    while not until.is_set():
        async with runtime.database.read() as session:
            rows = (await session.execute(old)).all()
        if not rows:
            break
        for conversation_id, seq, last in rows:
            async with runtime.database.write() as session:
                gone = await session.scalars(
                    delete(OutboxEvent)
                    .where(
                        OutboxEvent.conversation_id == conversation_id,
                        OutboxEvent.seq <= min(seq + AT_ONCE, last - KEPT_EVENTS),
                        OutboxEvent.created_at < before,
                    )
                    .returning(OutboxEvent.seq),
                    execution_options={"synchronize_session": False},
                )
                removed += len(gone.all())
    return removed


async def _remove_file_bytes(runtime: Runtime, until: asyncio.Event) -> int:
    """A job that was stopped while its files came in has left some behind; one that asked waits for a week."""
    too_late = or_(JobFile.outcome.is_(None), Job.created_at < runtime.clock() - ASKED)
    left = (
        select(JobFile.job_id, JobFile.position)
        .join(Job, Job.id == JobFile.job_id)
        .where(Job.status.not_in(("queued", "running")), JobFile.data.is_not(None), too_late)
        .limit(FILES_AT_ONCE)
    )
    removed = 0
    while not until.is_set():
        async with runtime.database.read() as session:
            rows = (await session.execute(left)).all()
        if not rows:
            break
        for job_id, position in rows:
            async with runtime.database.write() as session:
                of_file = (JobFile.job_id == job_id, JobFile.position == position)
                await session.execute(
                    update(JobFile).where(*of_file).values(data=None),
                    execution_options={"synchronize_session": False},
                )
        removed += len(rows)
    return removed


async def _remove_unsent(runtime: Runtime, until: asyncio.Event) -> int:
    old = (
        select(MessagePicture.id)
        .where(MessagePicture.swipe_id.is_(None), MessagePicture.created_at < runtime.clock() - UNSENT_FOR)
        .limit(AT_ONCE)
    )
    removed = 0
    while not until.is_set():
        async with runtime.database.write() as session:
            ids = (await session.scalars(old)).all()
            # One that was sent in between stays.
            gone = delete(MessagePicture).where(MessagePicture.id.in_(ids), MessagePicture.swipe_id.is_(None))
            await session.execute(gone, execution_options={"synchronize_session": False})
        removed += len(ids)
        if len(ids) < AT_ONCE:
            break
    return removed


async def _remove_blobs(runtime: Runtime, until: asyncio.Event) -> int:
    """Like texts, blobs come into the database in the transaction of what refers to them."""
    removed, after = 0, ""
    while not until.is_set():
        page = select(Blob.sha256).where(Blob.sha256 > after).order_by(Blob.sha256).limit(AT_ONCE)
        async with runtime.database.read() as session:
            names = (await session.scalars(page)).all()
            unused = (await session.scalars(select(Blob.sha256).where(Blob.sha256.in_(names), *is_unused()))).all()
        if not names:
            break
        after = names[-1]
        if unused:
            async with runtime.database.write() as session:
                removed += await remove_unused(session, unused)
    return removed


async def _remove_kept(runtime: Runtime, until: asyncio.Event) -> int:
    """The bytes of imported files come in before what refers to them; whoever was killed in between comes back soon."""
    removed, after, before = 0, "", runtime.clock() - KEPT_FOR
    is_unused = ~select(ImportedFile.path).where(ImportedFile.kept_sha256 == KeptFile.sha256).exists()
    while not until.is_set():
        page = select(KeptFile.sha256).where(KeptFile.sha256 > after).order_by(KeptFile.sha256).limit(AT_ONCE)
        async with runtime.database.read() as session:
            names = (await session.scalars(page)).all()
            old = (KeptFile.sha256.in_(names), KeptFile.created_at < before, is_unused)
            unused = (await session.scalars(select(KeptFile.sha256).where(*old))).all()
        if not names:
            break
        after = names[-1]
        # Each may have thousands of pieces.
        for name in unused:
            async with runtime.database.write() as session:
                locked = select(KeptFile.sha256).where(KeptFile.sha256 == name).with_for_update(skip_locked=True)
                found = (await session.scalars(locked)).all()
                gone = delete(KeptFile).where(KeptFile.sha256.in_(found), KeptFile.created_at < before, is_unused)
                await session.execute(gone, execution_options={"synchronize_session": False})
                removed += len(found)
    return removed


async def _remove_imports(runtime: Runtime, until: asyncio.Event) -> int:
    """Discard imports that nobody goes on with, and remove the files that were sent for those that are over; of those
    that were discarded, also what was never imported."""
    is_waiting = (FolderImport.is_uploaded, FolderImport.status.not_in(("scanning", "importing", *OVER)))
    async with runtime.database.write() as session:
        left = update(FolderImport).where(*is_waiting, FolderImport.updated_at < runtime.clock() - UPLOAD_KEPT)
        await session.execute(
            left.values(status="discarded", finished_at=runtime.clock()),
            execution_options={"synchronize_session": False},
        )
    removed = 0
    for folder, import_id in await asyncio.to_thread(_uploads, runtime.settings.imports_dir):
        if until.is_set():
            return removed
        async with runtime.database.read() as session:
            status = await session.scalar(select(FolderImport.status).where(FolderImport.id == import_id))
        if status is None or status in OVER:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            removed += 1
    of_discarded = ImportItem.import_id.in_(select(FolderImport.id).where(FolderImport.status == "discarded"))
    left_out = select(ImportItem.import_id, ImportItem.position).where(of_discarded, ImportItem.verdict.is_(None))
    while not until.is_set():
        async with runtime.database.write() as session:
            items = (await session.execute(left_out.limit(AT_ONCE))).all()
            gone = delete(ImportItem).where(tuple_(ImportItem.import_id, ImportItem.position).in_(items))
            await session.execute(gone, execution_options={"synchronize_session": False})
        removed += len(items)
        if len(items) < AT_ONCE:
            break
    return removed


_TARGETS = {
    "character": Character,
    "lorebook": Lorebook,
    "preset": Preset,
    "persona": Persona,
    "quick_replies": QuickReplySet,
    "space": Space,
    "conversation": Conversation,
}


async def _remove_imported(runtime: Runtime, until: asyncio.Event, period: timedelta) -> int:
    """Keep the bytes of files no more whose targets are gone for good, so that the next import still knows that they
    were deleted; and forget a whole source, with its reports, once everything that it became is gone. One of which
    nothing but files to keep has come stays."""
    removed = 0
    is_there = {kind: exists().where(row.id == ImportedFile.target_id) for kind, row in _TARGETS.items()}
    for kind, has_target in is_there.items():
        is_gone = (ImportedFile.target_kind == kind, ImportedFile.kept_sha256.is_not(None), ~has_target)
        page = select(ImportedFile.source_id, ImportedFile.path).where(*is_gone).limit(AT_ONCE)
        while not until.is_set():
            async with runtime.database.write() as session:
                keys = (await session.execute(page)).all()
                gone = update(ImportedFile).where(tuple_(ImportedFile.source_id, ImportedFile.path).in_(keys))
                await session.execute(gone.values(kept_sha256=None), execution_options={"synchronize_session": False})
            removed += len(keys)
            if len(keys) < AT_ONCE:
                break
    of_source = FolderImport.source_id == ImportSource.id
    files = (ImportedFile.source_id == ImportSource.id, ImportedFile.target_kind.in_(_TARGETS))
    is_target = or_(*(and_(ImportedFile.target_kind == kind, there) for kind, there in is_there.items()))
    is_in_use, had_some = exists().where(*files, is_target), exists().where(*files)
    is_recent = or_(FolderImport.status.not_in(OVER), FolderImport.updated_at >= runtime.clock() - period)
    unused = select(ImportSource.id).where(~is_in_use, had_some, ~exists().where(of_source, is_recent))
    while not until.is_set():
        async with runtime.database.write() as session:
            source_id = await session.scalar(unused.limit(1).with_for_update(skip_locked=True))
            if source_id is None:
                break
            await session.execute(delete(FolderImport).where(FolderImport.source_id == source_id))
            await session.execute(delete(ImportSource).where(ImportSource.id == source_id))
        removed += 1
    return removed


def _uploads(folder: Path) -> list[tuple[Path, UUID]]:
    """The folders of imports, each with the id of its import."""
    found: list[tuple[Path, UUID]] = []
    for entry in folder.iterdir() if folder.is_dir() else ():
        with suppress(ValueError):
            found.append((entry, UUID(entry.name.removesuffix(".part"))))
    return found
