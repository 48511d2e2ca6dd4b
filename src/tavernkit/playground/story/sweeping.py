"""Removing what nothing refers to any more: texts that were edited away, old events, blocks of prompts that are gone,
the bytes of files whose job has ended, pictures that were removed or never sent, and files of imports that nobody goes
on with.

All of it goes in small transactions, each of which leaves the database whole: whoever is killed in between has removed
less, and the next sweep removes the rest.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import and_, delete, func, or_, select, tuple_, update

from tavernkit.playground.base.blobs.store import is_unused, remove_unused
from tavernkit.playground.base.database.models import (
    Blob,
    Conversation,
    FolderImport,
    ImportedFile,
    ImportItem,
    Job,
    JobFile,
    KeptFile,
    Message,
    MessagePicture,
    MessageSwipe,
    OutboxEvent,
    TextContent,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.conversations.service import remove_unused_texts
from tavernkit.playground.story.prompting.records import remove_unused_blocks

KEPT_EVENTS = 50
"""So many events of each conversation stay, however old: a page that missed more is refreshed as a whole."""

KEPT_FOR = timedelta(days=1)
AT_ONCE = 500
ASKED = timedelta(days=7)
FILES_AT_ONCE = 20
UNSENT_FOR = timedelta(days=30)
"""How long a picture that was put into a draft waits to be sent."""
UPLOAD_KEPT = timedelta(days=7)
"""How long the files of an import wait until somebody goes on with it."""
OVER = ("done", "discarded")

log = logging.getLogger(__name__)


async def sweep(runtime: Runtime, until: asyncio.Event) -> None:
    """Remove everything that is not needed any more, or as much as can be removed until an event happens."""
    removed = {
        "texts": await _remove_texts(runtime, until),
        "events": await _remove_events(runtime, until),
        "prompt blocks": await remove_unused_blocks(runtime, until),
        "files of jobs": await _remove_file_bytes(runtime, until),
        "unsent pictures": await _remove_unsent(runtime, until),
        "stored files": await _remove_blobs(runtime, until),
        "kept files": await _remove_kept(runtime, until),
        "imports": await _remove_imports(runtime, until),
    }
    if any(removed.values()):
        log.info("Removed what nothing needs any more: %s", removed)
    # In each sweep: a reader may have kept the last one from it.
    await runtime.database.empty_log()


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


async def _remove_events(runtime: Runtime, until: asyncio.Event) -> int:
    before = runtime.clock() - KEPT_FOR
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


def _uploads(folder: Path) -> list[tuple[Path, UUID]]:
    """The folders of imports, each with the id of its import."""
    found: list[tuple[Path, UUID]] = []
    for entry in folder.iterdir() if folder.is_dir() else ():
        with suppress(ValueError):
            found.append((entry, UUID(entry.name.removesuffix(".part"))))
    return found
