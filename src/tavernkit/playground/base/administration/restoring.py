"""Restoring a backup from the page: it is checked and chosen while the server runs, and put in place when it starts.

Nothing else is safe: what runs holds rows, leases and sessions of the database that is replaced.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from sqlalchemy import update

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.administration.backups import (
    BACKUP_KIND,
    backup_name,
    backups_folder,
    read_backup,
    stored_backup,
)
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.backup import back_up, restore
from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.playground.base.private_files import write_once
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

V = TypeVar("V", bound=Value)

STAGED, OUTCOME = "restore.json", "restored.json"

log = logging.getLogger(__name__)


class BackupContents(Value, frozen=True, kw_only=True):
    """What a backup holds, after every row of it was read."""

    name: str
    made_at: datetime
    revision: str
    rows: int
    users: int
    conversations: int
    messages: int
    characters: int


class StagedRestore(Value, frozen=True, kw_only=True):
    """A backup that is restored when the server starts next."""

    name: str
    made_at: datetime
    rows: int
    staged_at: datetime


class RestoreOutcome(Value, frozen=True, kw_only=True):
    """What became of the last restore: `problem` is why it failed, `saved` the backup of what was there before."""

    name: str
    finished_at: datetime
    rows: int = 0
    saved: str = ""
    problem: str = ""


async def check_stored(runtime: Runtime, viewer: Viewer, name: str) -> BackupContents:
    """Read a whole backup; refuses one that is damaged or of a newer version."""
    require_administrator(viewer)
    place = stored_backup(runtime.settings, name)
    try:
        manifest = await asyncio.to_thread(read_backup, place)
        made_at = datetime.fromisoformat(manifest.created_at).astimezone(UTC)
    except (TavernKitError, FileNotFoundError, ValueError) as error:
        raise Refused("invalid", str(error)) from None
    tables = {table: part.rows for table, part in manifest.tables.items()}
    return BackupContents(
        name=name,
        made_at=made_at,
        revision=manifest.revision,
        rows=manifest.rows,
        users=tables.get("users", 0),
        conversations=tables.get("conversations", 0),
        messages=tables.get("messages", 0),
        characters=tables.get("characters", 0),
    )


async def stage_restore(runtime: Runtime, viewer: Viewer, name: str) -> StagedRestore:
    """Check a backup, and have it restored when the server starts next."""
    contents = await check_stored(runtime, viewer, name)
    staged = StagedRestore(name=name, made_at=contents.made_at, rows=contents.rows, staged_at=runtime.clock())
    folder = backups_folder(runtime.settings)
    await asyncio.to_thread(write_once, folder / STAGED, msgspec.json.encode(staged), replace=True)
    return staged


async def unstage_restore(runtime: Runtime, viewer: Viewer) -> None:
    """Restore nothing at the next start."""
    require_administrator(viewer)
    place = backups_folder(runtime.settings) / STAGED
    await asyncio.to_thread(place.unlink, missing_ok=True)


async def staged_restore(settings: AppConfig) -> StagedRestore | None:
    """What is restored at the next start, if anything."""
    return await asyncio.to_thread(_decoded, backups_folder(settings) / STAGED, StagedRestore)


async def restore_outcome(settings: AppConfig) -> RestoreOutcome | None:
    """What became of the last restore."""
    return await asyncio.to_thread(_decoded, backups_folder(settings) / OUTCOME, RestoreOutcome)


async def restore_staged(settings: AppConfig, now: datetime) -> None:
    """At the start: put the chosen backup in place, after what is there was backed up itself.

    If it fails, the database is as it was, and the server starts with it. Who is killed meanwhile does it again.
    """
    folder, url = backups_folder(settings), settings.resolved_database_url
    if not (folder / STAGED).exists():
        return
    async with start_lock(url):
        # Of several that start at once, the first has done it.
        staged = _decoded(folder / STAGED, StagedRestore)
        if staged is None:
            return
        saved = backup_name("before-restore", staged.staged_at)
        try:
            if not (folder / saved).exists():
                # Whoever was killed behind the restore has saved what was there before; now there is something else.
                await back_up(url, folder / saved, now)
            with (folder / staged.name).open("rb") as file:
                manifest = await restore(url, file, force=True)
            await _end_own_job(url, now)
        except (TavernKitError, OSError) as error:
            log.error("The backup %s was not restored: %s", staged.name, error)
            outcome = RestoreOutcome(name=staged.name, finished_at=now, problem=str(error))
        else:
            log.warning("Restored the backup %s; what was there before is in %s.", staged.name, saved)
            outcome = RestoreOutcome(name=staged.name, finished_at=now, rows=manifest.rows, saved=saved)
        write_once(folder / OUTCOME, msgspec.json.encode(outcome), replace=True)
        (folder / STAGED).unlink()


async def _end_own_job(url: str, now: datetime) -> None:
    """In its own backup, the job that makes it is still running."""
    engine = create_engine(url)
    is_running = (Job.kind == BACKUP_KIND, Job.status.in_(("queued", "running")))
    try:
        async with engine.execution_options(writes=True).begin() as connection:
            await connection.execute(update(Job).where(*is_running).values(status="canceled", finished_at=now))
    finally:
        await engine.dispose()


def _decoded(place: Path, kind: type[V]) -> V | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
