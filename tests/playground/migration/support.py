"""Folders to import, a handler that makes lorebooks of worlds, and somebody who imports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.lore import Book, read_book
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models import FolderImport, ImportedFile, ImportSource, Job, Lorebook
from tavernkit.playground.base.jobs.service import claim_job
from tavernkit.playground.base.jobs.work import Handler, JobStopped, JobWork
from tavernkit.playground.base.jobs.worker import JobWorker
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.lorebooks.service import store_book
from tavernkit.playground.story.migration import kept
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.importing import import_folder
from tavernkit.playground.story.migration.items import Handlers, ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.queries import import_of
from tavernkit.playground.story.migration.report import ReportLine, report_lines
from tavernkit.playground.story.migration.scanning import scan_folder
from tavernkit.playground.story.migration.service import import_from_path, start_import
from tavernkit.playground.story.migration.steps import IMPORT_KIND, SCAN_KIND
from tavernkit.playground.story.sweeping import sweep
from tests.playground.stories import Story, open_story
from tests.playground.support.jobs import ended_job

__all__ = [
    "KEY",
    "Interrupted",
    "Worlds",
    "book_names",
    "chat",
    "count",
    "handlers_of",
    "imported",
    "imported_files",
    "lines",
    "migrating",
    "migrating_story",
    "scanned",
    "shown",
    "swept",
    "world",
    "worlds",
    "write_folder",
]


ALL = ImportChoices()
KEY = "sk-planted-1234567890"


def world(name: str, *contents: str) -> dict[str, Any]:
    """A world file."""
    entries = {str(uid): {"uid": uid, "key": [name], "content": content} for uid, content in enumerate(contents)}
    return {"name": name, "entries": entries}


def worlds(*names: str) -> dict[str, Any]:
    """World files of these names, by their paths."""
    return {f"worlds/{name}.json": world(name, f"About {name}.") for name in names}


def chat(*texts: str, main_chat: str = "") -> bytes:
    """A chat file."""
    metadata = {"main_chat": main_chat} if main_chat else {}
    first = {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}
    messages = [
        {"name": "Sam", "is_user": True, "mes": text, "send_date": f"2024-01-01T00:00:{number:02}.000Z"}
        for number, text in enumerate(texts)
    ]
    return b"\n".join(json.dumps(line).encode() for line in (first, *messages))


def write_folder(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write files, of bytes or of JSON, below a folder."""
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


class Worlds:
    """A handler that makes a lorebook of each world; one that is changed is written into the same row."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> Book:
        return read_book(data)[0]

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: Book) -> ItemOutcome:
        name = Path(item.path).stem
        is_new = item.target_id is None or (item.is_changed_here and item.conflict == "both")
        if item.target_id is not None and item.is_changed_here and item.conflict == "keep":
            return ItemOutcome(verdict="skipped")
        if not is_new and item.target_id is not None:
            await session.delete(await session.get_one(Lorebook, item.target_id))
            await session.flush()
        row = await store_book(
            job.runtime,
            session,
            job.viewer.user_id,
            prepared,
            name=prepared.name or name,
            file_sha256=item.sha256,
            id=None if is_new else item.target_id,
        )
        return ItemOutcome(verdict="exact", target_kind="lorebook", target_id=row.id)


def handlers_of(**handlers: ItemHandler) -> Handlers:
    """A registry with these handlers, besides those for what is only kept."""
    known: dict[str, ItemHandler] = {**kept.HANDLERS, "world": Worlds(), **handlers}

    def handler_of(kind: FileKind) -> ItemHandler | None:
        return known.get(kind)

    return handler_of


def _jobs(handlers: Handlers) -> dict[str, Handler]:
    return {SCAN_KIND: scan_folder, IMPORT_KIND: partial(import_folder, handlers=handlers)}


@asynccontextmanager
async def migrating(runtime: Runtime, name: str = "jobs", *, handlers: Handlers | None = None) -> AsyncIterator[None]:
    """A worker that scans and imports until the block ends."""
    worker = JobWorker(runtime, name, _jobs(handlers or handlers_of()), sweep)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


@asynccontextmanager
async def migrating_story(url: str, folder: Path, *, handlers: Handlers | None = None) -> AsyncIterator[Story]:
    """A story with such a worker."""
    async with open_story(url, folder) as story, migrating(story.runtime, handlers=handlers):
        yield story


async def shown(story: Story, import_id: UUID) -> FolderImport:
    """An import as it is now."""
    async with story.runtime.database.read() as session:
        return await import_of(session, story.viewer, import_id)


async def scanned(story: Story, folder: Path) -> FolderImport:
    """Have a folder scanned, by a worker that is there."""
    row = await import_from_path(story.runtime, story.viewer, folder)
    assert row.job_id is not None
    await ended_job(story.runtime, row.job_id)
    return await shown(story, row.id)


async def imported(story: Story, folder: Path | FolderImport, choices: ImportChoices = ALL) -> FolderImport:
    """Have a folder, or one that is scanned, imported, by a worker that is there."""
    row = await scanned(story, folder) if isinstance(folder, Path) else folder
    assert row.status == "scanned", (row.status, row.error)
    begun = await start_import(story.runtime, story.viewer, row.id, choices)
    assert begun.job_id is not None
    await ended_job(story.runtime, begun.job_id)
    return await shown(story, row.id)


async def lines(story: Story, row: FolderImport) -> dict[str, ReportLine]:
    """The report, by path."""
    return {line.path: line async for line in report_lines(story.runtime, story.viewer, row.id)}


async def count(story: Story, model: type[Base]) -> int:
    async with story.runtime.database.read() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


async def book_names(story: Story) -> list[str]:
    async with story.runtime.database.read() as session:
        return list(await session.scalars(select(Lorebook.name).order_by(Lorebook.name)))


async def imported_files(story: Story) -> dict[str, ImportedFile]:
    """What the files of the person's newest source have become."""
    async with story.runtime.database.read() as session:
        newest = select(ImportSource.id).order_by(ImportSource.created_at.desc()).limit(1)
        rows = await session.scalars(select(ImportedFile).where(ImportedFile.source_id.in_(newest)))
        return {row.path: row for row in rows}


async def swept(story: Story) -> None:
    """Have everything removed that is not needed any more."""
    await sweep(story.runtime, asyncio.Event())


class Interrupted(JobWork):
    """The work of a worker that leaves after some steps."""

    def __init__(self, runtime: Runtime, claim: Any, steps: int) -> None:
        super().__init__(runtime, claim)
        self._steps = steps

    async def commit_step(self, session: AsyncSession, done: int) -> None:
        if self._steps == 0:
            raise JobStopped("shutdown")
        self._steps -= 1
        await super().commit_step(session, done)

    @staticmethod
    async def steps_of(story: Story, steps: int, handlers: Handlers | None = None) -> bool:
        """Do some steps of the job that is waiting, and leave it to others; whether it was more than it needed."""
        runtime, jobs = story.runtime, _jobs(handlers or handlers_of())
        claim = await claim_job(runtime, "short-lived", jobs)
        assert claim is not None
        try:
            result = await jobs[claim.kind](Interrupted(runtime, claim, steps))
        except JobStopped:
            async with runtime.database.write() as session:
                job = await session.get_one(Job, claim.job_id)
                job.status, job.fence = "queued", job.fence + 1
            return False
        async with runtime.database.write() as session:
            job = await session.get_one(Job, claim.job_id)
            job.status, job.result = "succeeded", result
        return True
