"""Exports of everything over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import Application, FileKind
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.refused import existing, not_found
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.files import BINARY, attachment
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.reports import REPORT, ReportFormat, report_response
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.story.migration.export_report import ExportChoices, ExportLine
from tavernkit.playground.story.migration.exporting import EXPORT_KIND, begin_export, finished_export
from tavernkit.playground.story.migration.labels import APPLICATIONS, EXPORT_MEANINGS, EXPORT_VERDICTS, KINDS
from tavernkit.values import Value


class NewExport(StrictModel):
    """What is exported, and for which application."""

    application: Application = "sillytavern"
    only: list[FileKind] | None = Field(default=None, description="Only these kinds of files; null: all.")
    character_ids: list[UUID] = Field(
        default_factory=list, max_length=1000, description="Only these characters, with their chats and lorebooks."
    )
    space_ids: list[UUID] = Field(default_factory=list, max_length=1000, description="Only these spaces.")
    lorebook_ids: list[UUID] = Field(default_factory=list, max_length=1000, description="Only these lorebooks.")
    preset_ids: list[UUID] = Field(default_factory=list, max_length=1000, description="Only these presets.")


router = APIRouter(prefix="/exports", tags=["exports"], responses=documented())


@router.post("", status_code=202, summary="Export everything, or some of it")
async def begin(caller: ApiCaller, wanted: NewExport) -> JobOut:
    choices = ExportChoices(
        application=wanted.application,
        only=None if wanted.only is None else tuple(wanted.only),
        character_ids=tuple(wanted.character_ids),
        space_ids=tuple(wanted.space_ids),
        lorebook_ids=tuple(wanted.lorebook_ids),
        preset_ids=tuple(wanted.preset_ids),
    )
    return JobOut.of(await begin_export(*caller, choices))


@router.get("/{job_id}", summary="How far an export is")
async def get_export(caller: ApiCaller, job_id: UUID) -> JobOut:
    return JobOut.of(await caller.read(export_job, job_id))


@router.get("/{job_id}/file", summary="The archive", response_class=FileResponse, responses=BINARY)
async def get_archive(caller: ApiCaller, job_id: UUID) -> FileResponse:
    job, export = await caller.read(export_job, job_id), await finished_export(*caller, job_id)
    headers = attachment(f"{_name(job)} {job.created_at:%Y-%m-%d}", "zip")
    return FileResponse(export.archive, media_type="application/zip", headers=headers)


@router.get("/{job_id}/report", summary="What became of each file", response_class=StreamingResponse, responses=REPORT)
async def report(caller: ApiCaller, job_id: UUID, format: ReportFormat = "json") -> Response:
    job, export = await caller.read(export_job, job_id), await finished_export(*caller, job_id)
    name = f"{_name(job)} report"
    if format == "json":
        return FileResponse(export.report, media_type="application/json", headers=attachment(name, "json"))
    written = await to_thread.run_sync(export.report.read_bytes)
    return report_response(
        format,
        name,
        {"totals": export.totals},
        _lines(written),
        title=_("Export to {application}", application=_name(job)),
        about=ngettext("{count} file", "{count} files", sum(export.totals.values())),
        verdicts=EXPORT_VERDICTS,
        meanings=EXPORT_MEANINGS,
        kinds=KINDS,
    )


async def export_job(session: AsyncSession, viewer: Viewer, job_id: UUID) -> Job:
    """One of the person's exports, also while it is written."""
    job = existing(await find_job(session, job_id, viewer), _("export"))
    if job.kind != EXPORT_KIND:
        raise not_found(_("export"))
    return job


class _Report(Value, frozen=True, kw_only=True):
    lines: tuple[ExportLine, ...]


async def _lines(written: bytes) -> AsyncIterator[ExportLine]:
    for line in msgspec.json.decode(written, type=_Report).lines:
        yield line


def _name(job: Job) -> str:
    return APPLICATIONS[job.payload["choices"]["application"]]
