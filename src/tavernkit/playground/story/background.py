"""Which code does which kind of job: the one place where handlers are named, and the worker that has them all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tavernkit.playground.base.administration.backups import BACKUP_KIND, begin_due_backup, carry_out_backup
from tavernkit.playground.base.database.fulltext.rebuilding import rebuild
from tavernkit.playground.base.jobs.service import REMOVE_KIND
from tavernkit.playground.base.jobs.work import Handler
from tavernkit.playground.base.jobs.worker import JobWorker
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.importing import IMPORT_KIND, import_staged_files
from tavernkit.playground.story.chatfiles.importing import CHAT_IMPORT_KIND, carry_out_chat_import
from tavernkit.playground.story.dry_runs.dry_run import DRY_RUN_KIND, carry_out_dry_run
from tavernkit.playground.story.dry_runs.manual import PIPELINES_KIND, carry_out_pipelines
from tavernkit.playground.story.migration.exporting import EXPORT_KIND, carry_out_export, remove_old_exports
from tavernkit.playground.story.migration.importing import import_folder
from tavernkit.playground.story.migration.scanning import scan_folder
from tavernkit.playground.story.migration.steps import IMPORT_KIND as FOLDER_IMPORT_KIND
from tavernkit.playground.story.migration.steps import SCAN_KIND as FOLDER_SCAN_KIND
from tavernkit.playground.story.replaying.what_if import WHAT_IF_KIND, carry_out_what_if
from tavernkit.playground.story.replies.actions import CANDIDATES_KIND, write_candidates
from tavernkit.playground.story.retention import PURGE_KIND, SWEEP_KIND
from tavernkit.playground.story.spaces.service import finish_removing_space
from tavernkit.playground.story.sweeping.service import purge_as_job, sweep, sweep_as_job

HANDLERS: Mapping[str, Handler] = {
    IMPORT_KIND: import_staged_files,
    CHAT_IMPORT_KIND: carry_out_chat_import,
    REMOVE_KIND: finish_removing_space,
    CANDIDATES_KIND: write_candidates,
    DRY_RUN_KIND: carry_out_dry_run,
    PIPELINES_KIND: carry_out_pipelines,
    FOLDER_SCAN_KIND: scan_folder,
    FOLDER_IMPORT_KIND: import_folder,
    EXPORT_KIND: carry_out_export,
    SWEEP_KIND: sweep_as_job,
    PURGE_KIND: purge_as_job,
    BACKUP_KIND: carry_out_backup,
    WHAT_IF_KIND: carry_out_what_if,
}

REPEATABLE = frozenset({REMOVE_KIND, EXPORT_KIND, BACKUP_KIND})
"""Kinds that can begin again after they have failed: what they need is still there."""


def job_worker(runtime: Runtime, name: str) -> JobWorker:
    """A worker for every kind of job, which also sweeps and completes the search index."""
    return JobWorker(runtime, name, HANDLERS, _sweep)


async def _sweep(runtime: Runtime, stopping: asyncio.Event) -> None:
    # Before anything else: what is not indexed yet, after an upgrade or a restored backup, is not found.
    async for _ in rebuild(runtime.database, runtime.clock):
        if stopping.is_set():
            return
    await sweep(runtime, stopping)
    await remove_old_exports(runtime, stopping)
    await begin_due_backup(runtime)
