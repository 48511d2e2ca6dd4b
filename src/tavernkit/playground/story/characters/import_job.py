"""Bringing in hundreds of files: they are received at once, and imported one by one in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import Job, JobFile, SpaceMembership, User
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.base.realtime.bus import JOBS
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.characters.files import MAX_FILE_BYTES, prepare
from tavernkit.playground.story.characters.importing import ImportedCharacter, SameName, add_as_version, store_file
from tavernkit.playground.story.characters.queries import find_character

IMPORT_KIND = "character_import"
MAX_FILES = 2000
MAX_TOTAL_BYTES = 2 * 1024 * 1024 * 1024
RECEIVING = timedelta(hours=1)
BATCH_BYTES = 8 * 1024 * 1024
OUTCOMES = ("imported", "updated", "same", "skipped", "failed")


class SentFile(Protocol):
    """A file that somebody sent, lying somewhere until it is read."""

    @property
    def filename(self) -> str | None: ...

    @property
    def size(self) -> int | None: ...

    async def read(self, size: int = -1) -> bytes: ...


async def start_import(
    runtime: Runtime, viewer: Viewer, files: Sequence[SentFile], *, same_name: SameName = "new"
) -> Job:
    """Lay the files down where any worker finds them, and queue their import.

    Not in one transaction: gigabytes would keep everybody else from writing. The job waits until all are there; if the
    application ends in between, what had arrived is imported after an hour, and the rest is reported as missing.
    """
    async with runtime.database.write() as session:
        job = await enqueue_job(
            session,
            runtime,
            kind=IMPORT_KIND,
            owner_id=viewer.user_id,
            payload={"files": len(files), "same_name": same_name},
            total=len(files),
            delay=RECEIVING,
        )
    position = 0
    while position < len(files):
        async with runtime.database.write() as session:
            size = 0
            while position < len(files) and size < BATCH_BYTES:
                size += await _lay_down(session, job.id, position, files[position])
                position += 1
    async with runtime.database.write() as session:
        job = await session.get_one(Job, job.id)
        job.run_after = await runtime.lease_clock.now(session)
        announce(session, JOBS, queued=str(job.id))
    return job


async def import_staged_files(work: JobWork) -> dict[str, Any]:
    """Import the files that are left, each in a transaction with its outcome, and count what became of all."""
    job_id, owner_id = work.claim.job_id, work.claim.owner_id
    if owner_id is None:
        raise TavernKitError("An import belongs to nobody, so nothing can be imported.")
    database = work.runtime.database
    last = -1
    while True:
        work.check()
        async with database.read() as session:
            file = await session.scalar(
                select(JobFile)
                .where(JobFile.job_id == job_id, JobFile.position > last, JobFile.outcome.is_(None))
                .order_by(JobFile.position)
                .limit(1)
            )
        if file is None:
            break
        await _import(work, owner_id, file)
        last = file.position
    async with database.read() as session:
        return await _counts(session, job_id, expected=work.claim.payload["files"])


async def _lay_down(session: AsyncSession, job_id: UUID, position: int, file: SentFile) -> int:
    name = titled(file.filename or "", f"file {position + 1}", limit=300)
    if (file.size or 0) > MAX_FILE_BYTES:
        outcome = _failed(f"The file has {file.size:,} bytes; at most {MAX_FILE_BYTES:,} are read.")
        session.add(JobFile(job_id=job_id, position=position, name=name, outcome=outcome, data=None))
        return 0
    data = await file.read()
    row = JobFile(job_id=job_id, position=position, name=name, outcome=None, data=data)
    session.add(row)
    await session.flush()
    # The session would hold on to the bytes until it is closed.
    session.expunge(row)
    return len(data)


async def _import(work: JobWork, owner_id: UUID, file: JobFile) -> None:
    runtime = work.runtime
    try:
        prepared = await asyncio.to_thread(prepare, file.data or b"")
    except TavernKitError as error:
        async with runtime.database.write() as session:
            await _settle(work, session, file, _failed(storable(str(error))))
        return
    async with runtime.database.write() as session:
        # A job that was queued before there was a choice has none.
        same_name: SameName = work.claim.payload.get("same_name", "new")
        stored = await store_file(session, runtime, owner_id, prepared, same_name=same_name)
        await _settle(work, session, file, outcome_of(stored))


async def _settle(work: JobWork, session: AsyncSession, file: JobFile, outcome: dict[str, Any]) -> None:
    settled = await session.execute(
        update(JobFile)
        .where(JobFile.job_id == file.job_id, JobFile.position == file.position, JobFile.outcome.is_(None))
        .values(outcome=outcome, data=None)
        .returning(JobFile.position)
    )
    if settled.one_or_none() is None:
        raise JobStopped("lost")
    await work.commit_step(session, file.position + 1)


async def _counts(session: AsyncSession, job_id: UUID, *, expected: int) -> dict[str, Any]:
    outcomes = await session.scalars(select(JobFile.outcome).where(JobFile.job_id == job_id))
    counts = dict.fromkeys(OUTCOMES, 0)
    for outcome in outcomes:
        counts[outcome["outcome"] if outcome else "failed"] += 1
    return {**counts, "missing": expected - sum(counts.values())}


def outcome_of(imported: ImportedCharacter) -> dict[str, Any]:
    """What is stored about a file that was imported."""
    return {
        "outcome": imported.outcome,
        "sentence": imported.sentence,
        "character_id": str(imported.character.id),
        "changed": [change.field for change in imported.changes],
        "notes": list(imported.notes),
        "namesake_id": None if imported.namesake is None else str(imported.namesake.id),
    }


def _failed(sentence: str) -> dict[str, Any]:
    return {
        "outcome": "failed",
        "sentence": sentence,
        "character_id": None,
        "changed": [],
        "notes": [],
        "namesake_id": None,
    }


async def file_as_version(runtime: Runtime, viewer: Viewer, job_id: UUID, position: int) -> None:
    """Turn the character that a file became into a new version of its namesake, as long as no story has it."""
    async with runtime.database.write() as session:
        # As every import of this person does first: no file of theirs is stored meanwhile.
        await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update(key_share=True))
        job = await find_job(session, job_id, viewer, lock=True)
        file = await session.get(JobFile, (job_id, position))
        if job is None or job.kind != IMPORT_KIND or file is None:
            raise not_found("file")
        named = None if file.outcome is None else file.outcome.get("namesake_id")
        if file.outcome is None or named is None:
            return
        added_id = UUID(file.outcome["character_id"])
        row = await find_character(session, UUID(named), viewer, to_change=True)
        added = await find_character(session, added_id, viewer, to_change=True)
        is_used = select(SpaceMembership.id).where(SpaceMembership.character_id == added_id).limit(1)
        if added.version > 1 or await session.scalar(is_used) is not None:
            sentence = f"{added.name} was edited or is in a story, so it stays a character of its own."
            raise Refused(code="conflict", sentence=sentence)
        file.outcome = outcome_of(await add_as_version(session, runtime, row, added))
        if job.result:
            counts = {"imported": job.result["imported"] - 1, "updated": job.result["updated"] + 1}
            job.result = {**job.result, **counts}
