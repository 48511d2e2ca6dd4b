"""The steps of the jobs that scan and import: each is one transaction, and only while the import is still the job's."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID
from zipfile import BadZipFile

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.migration import open_source
from tavernkit.migration.files import FileSource
from tavernkit.playground.base.database.models import FolderImport
from tavernkit.playground.base.jobs.service import write_progress
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of

SCAN_KIND = "folder_scan"
IMPORT_KIND = "folder_import"
STATUS_OF = {SCAN_KIND: "scanning", IMPORT_KIND: "importing"}
LAST_STATUS_OF = {SCAN_KIND: "scanned", IMPORT_KIND: "done"}

RECEIVED, LISTED, SCANNED, VERDICTS = "received", "listed", "scanned", "verdicts"
"""Parts of the summary of an import: how many files and bytes were sent, how many files were listed once all of them
are, what a scan that has ended found, and how many files got each verdict."""

UNREADABLE = (TavernKitError, OSError, EOFError, zlib.error, BadZipFile)
"""What reading a file of a source may raise."""


async def begun_import(work: JobWork) -> FolderImport:
    """The import that a job is for. Whoever was killed right behind the last step has left it with its last status."""
    async with work.runtime.database.read() as session:
        row = await session.get(FolderImport, UUID(work.claim.payload["import_id"]))
    is_over = row is not None and row.job_id == work.claim.job_id and row.status == LAST_STATUS_OF[work.claim.kind]
    if row is None or not (is_over or _is_ours(work, row)):
        raise JobStopped("asked")
    return row


@asynccontextmanager
async def step(
    work: JobWork, import_id: UUID, done: int, total: int | None = None
) -> AsyncIterator[tuple[AsyncSession, FolderImport]]:
    """A transaction of a job that counts its steps; ends the job where somebody has paused, discarded or resumed it."""
    async with work.runtime.database.write() as session:
        # First, because it locks the job: nobody who has lost it gets any further.
        await work.commit_step(session, done)
        if total is not None:
            await write_progress(session, work.claim, total=total)
        yield session, await locked_import(session, work, import_id)


async def locked_import(session: AsyncSession, work: JobWork, import_id: UUID) -> FolderImport:
    """The import, which nobody else changes until this transaction ends; where it is not the job's any more, the end of
    the job."""
    query = select(FolderImport).where(FolderImport.id == import_id).with_for_update()
    row: FolderImport | None = await session.scalar(query.execution_options(populate_existing=True))
    if row is None or not _is_ours(work, row):
        raise JobStopped("asked")
    row.updated_at = work.runtime.clock()
    return row


def _is_ours(work: JobWork, row: FolderImport) -> bool:
    return row.job_id == work.claim.job_id and row.status == STATUS_OF[work.claim.kind]


def opened(row: FolderImport) -> FileSource:
    """The files of an import; takes a while, so not to be called in the event loop."""
    require_place(row)
    return open_source(Path(row.place))


def require_place(row: FolderImport) -> None:
    """Fail where the files of an import are not there any more."""
    if Path(row.place).exists():
        return
    if row.is_uploaded:
        raise TavernKitError(_("The files of this import are gone. Send them again."))
    raise TavernKitError(
        _(
            "{place} cannot be found on the machine of the worker. Move it back, or import it from there.",
            place=row.place,
        )
    )


def reason(error: BaseException) -> str:
    """Why a file cannot be read."""
    if isinstance(error, TavernKitError):
        return sentence_of(error)
    said = error.strerror if isinstance(error, OSError) else None
    return _("The file cannot be read: {reason}", reason=said or str(error) or type(error).__name__)
