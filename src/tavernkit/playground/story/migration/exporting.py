"""Exporting everything of a person, or a selection, as a folder that SillyTavern or RisuAI opens, with a report.

The export builds upon the newest folder that was imported: what is unchanged has the bytes that were imported, what was
changed is written anew at the same path, and what was made here gets a path by the rules of the application.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.migration.files import Application
from tavernkit.migration.risuai.parts import ROOT
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import ImportedFile, ImportSource, Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import stored, stored_sentence
from tavernkit.playground.base.private_files import FILE_MODE, make_folder, write_once
from tavernkit.playground.base.refused import existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.migration.export_items import name_as_png
from tavernkit.playground.story.migration.export_plan import plan_export
from tavernkit.playground.story.migration.export_report import ExportChoices, ExportLine, ExportReport
from tavernkit.playground.story.migration.export_risuai import RisuaiExport
from tavernkit.playground.story.migration.export_sillytavern import SillyTavernExport
from tavernkit.playground.story.migration.export_sinks import ExportSink, FolderSink, ZipSink
from tavernkit.playground.story.migration.export_writer import OnProgress
from tavernkit.values import Value

__all__ = [
    "EXPORT_KIND",
    "ExportChoices",
    "ExportReport",
    "FinishedExport",
    "FolderSink",
    "ZipSink",
    "begin_export",
    "carry_out_export",
    "finished_export",
    "remove_old_exports",
    "write_export",
]

EXPORT_KIND = "folder_export"
KEPT_FOR = timedelta(days=1)
"""How long an exported archive can be downloaded."""
SHOWN_LINES = 500
"""So many lines of a report are kept with the job; all of them are in the file beside the archive."""


async def newest_source(session: AsyncSession, viewer: Viewer, application: Application) -> ImportSource | None:
    """The folder or backup of an application that was imported last. Files of RisuAI that came alone are no backup."""
    query = select(ImportSource).where(ImportSource.owner_id == viewer.user_id, ImportSource.application == application)
    if application == "risuai":
        has_database = exists().where(ImportedFile.source_id == ImportSource.id, ImportedFile.path == ROOT)
        query = query.where(has_database)
    newest = query.order_by(ImportSource.updated_at.desc(), ImportSource.id.desc()).limit(1)
    found: ImportSource | None = await session.scalar(newest)
    return found


def _in_person(viewer: Viewer) -> Viewer:
    """Without the rights of an administrator: what belongs to others is not exported."""
    return Viewer(user_id=viewer.user_id)


async def _nothing(done: int, total: int) -> None:
    """Nobody wants to know."""


async def write_export(
    runtime: Runtime, viewer: Viewer, sink: ExportSink, choices: ExportChoices, on_progress: OnProgress = _nothing
) -> ExportReport:
    """Write everything, or what was chosen, and say what became of each file. Refuses what is not the person's."""
    viewer = _in_person(viewer)
    async with runtime.database.read() as session:
        source = await newest_source(session, viewer, choices.application)
        plan = await plan_export(session, viewer, choices, source)
        if choices.application == "sillytavern":
            await name_as_png(session, plan)
    kind = SillyTavernExport if choices.application == "sillytavern" else RisuaiExport
    exporter = kind(runtime, viewer, plan, sink, choices, on_progress)
    await exporter.write_all()
    name = None if source is None else source.name
    return ExportReport(application=choices.application, source=name, lines=tuple(exporter.lines))


async def begin_export(runtime: Runtime, viewer: Viewer, choices: ExportChoices) -> Job:
    """Have a worker write a ZIP archive. Refuses what is not the person's."""
    async with runtime.database.write() as session:
        if choices.is_selection:
            await plan_export(session, _in_person(viewer), choices, None)
        payload = {"choices": msgspec.to_builtins(choices)}
        return await enqueue_job(session, runtime, kind=EXPORT_KIND, owner_id=viewer.user_id, payload=payload)


async def carry_out_export(work: JobWork) -> dict[str, Any]:
    """The job: the archive and its report appear when both are complete; whoever takes it over begins anew."""
    runtime, job_id, owner_id = work.runtime, work.claim.job_id, work.claim.owner_id
    if owner_id is None:
        raise TavernKitError(_("Nobody owns this export."))
    choices, viewer = msgspec.convert(work.claim.payload["choices"], ExportChoices), Viewer(user_id=owner_id)
    archive, report_file = _files(runtime.settings, job_id)
    await asyncio.to_thread(make_folder, archive.parent)
    unfinished = archive.with_suffix(f".{work.claim.fence}.part")
    try:
        with (
            open(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb") as file,
            ZipSink(file) as sink,
        ):
            report = await write_export(runtime, viewer, sink, choices, work.report)
        work.check()
        await asyncio.to_thread(_write_report, report_file, report)
        await asyncio.to_thread(unfinished.replace, archive)
    finally:
        unfinished.unlink(missing_ok=True)
    differing = [line for line in report.lines if line.verdict != "exact"]
    return {
        "application": report.application,
        "source": report.source,
        "totals": report.totals,
        "size": archive.stat().st_size,
        "lines": [_as_stored(line) for line in differing[:SHOWN_LINES]],
        "more": max(len(differing) - SHOWN_LINES, 0),
    }


class FinishedExport(Value, frozen=True, kw_only=True):
    """An archive to download, its report as JSON beside it, and the lines of it that need to be read."""

    archive: Path
    report: Path
    size: int
    totals: dict[str, int]
    lines: tuple[ExportLine, ...]
    more: int


async def finished_export(runtime: Runtime, viewer: Viewer, job_id: UUID) -> FinishedExport:
    """What a job has exported, for a day."""
    async with runtime.database.read() as session:
        job = existing(await find_job(session, job_id, viewer), _("export"))
    archive, report = _files(runtime.settings, job_id)
    if job.kind != EXPORT_KIND or job.status != "succeeded" or not await asyncio.to_thread(archive.exists):
        raise not_found(_("export"))
    return FinishedExport(
        archive=archive,
        report=report,
        size=job.result["size"],
        totals=job.result["totals"],
        lines=tuple(map(_from_stored, job.result["lines"])),
        more=job.result["more"],
    )


async def remove_old_exports(runtime: Runtime, until: asyncio.Event) -> int:
    """Remove archives after a day, and what was left of those that were never completed."""
    return await asyncio.to_thread(_remove_old, exports_folder(runtime.settings), runtime.clock() - KEPT_FOR, until)


def exports_folder(settings: AppConfig) -> Path:
    """Where archives wait to be downloaded."""
    return settings.data_dir / "exports"


def _remove_old(folder: Path, before: datetime, until: asyncio.Event) -> int:
    removed = 0
    for file in _files_in(folder):
        if until.is_set():
            break
        # Somebody else may have been faster.
        with suppress(FileNotFoundError):
            if datetime.fromtimestamp(file.stat().st_mtime, UTC) < before:
                shutil.rmtree(file) if file.is_dir() else file.unlink()
                removed += 1
    return removed


def _files_in(folder: Path) -> Iterator[Path]:
    return folder.iterdir() if folder.is_dir() else iter(())


def _files(settings: AppConfig, job_id: UUID) -> tuple[Path, Path]:
    folder = exports_folder(settings)
    return folder / f"{job_id}.zip", folder / f"{job_id}.json"


def _write_report(place: Path, report: ExportReport) -> None:
    document = msgspec.json.encode(report.document(), enc_hook=str)
    write_once(place, msgspec.json.format(document, indent=2), replace=True)


def _as_stored(line: ExportLine) -> dict[str, Any]:
    return {**msgspec.to_builtins(line.with_(notes=())), "notes": [stored("note", note) for note in line.notes]}


def _from_stored(kept: dict[str, Any]) -> ExportLine:
    notes = tuple(map(stored_sentence, kept["notes"]))
    return msgspec.convert({**kept, "notes": ()}, ExportLine).with_(notes=notes)
