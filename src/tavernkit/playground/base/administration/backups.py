"""Backups that the server keeps in its data folder: made by hand or on a schedule, listed, downloaded and removed."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.names import lock_accounts
from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.backup import BackupError, Manifest, back_up, check_backup
from tavernkit.playground.base.database.models import Job, SiteSetting
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import PROGRESS_SECONDS, JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.private_files import make_folder, make_private
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

BACKUP_KIND = "backup"
PLAN, LAST = "backup_plan", "last_backup"
MOST_HOURS, MOST_KEPT = 24 * 31, 1000
EARLY = timedelta(minutes=10)
"""A worker looks once an hour: what is due a little later is made now."""

BackupOrigin: TypeAlias = Literal["manual", "scheduled", "uploaded", "before-restore"]
_NAME = re.compile(r"(manual|scheduled|uploaded|before-restore)-\d{8}-\d{6}\.zip")


class BackupPlan(Value, frozen=True, kw_only=True):
    """How often a backup is made, 0 for never, and how many of those that were made so are kept."""

    every_hours: int = 0
    keep: int = 7


class LastBackup(Value, frozen=True, kw_only=True):
    """The newest backup that was made here by a worker."""

    name: str
    made_at: datetime
    rows: int
    size: int


class StoredBackup(Value, frozen=True, kw_only=True):
    """A backup in the folder of this server."""

    name: str
    origin: BackupOrigin
    size: int
    made_at: datetime


def backups_folder(settings: AppConfig) -> Path:
    """Where backups are kept."""
    return settings.data_dir / "backups"


def backup_name(origin: BackupOrigin, now: datetime) -> str:
    """What a backup is called."""
    return f"{origin}-{now.astimezone(UTC):%Y%m%d-%H%M%S}.zip"


async def list_backups(runtime: Runtime, viewer: Viewer) -> list[StoredBackup]:
    """The backups in the folder of this server, newest first."""
    require_administrator(viewer)
    return await asyncio.to_thread(_listed, backups_folder(runtime.settings))


def stored_backup(settings: AppConfig, name: str) -> Path:
    """The file of a backup; refuses what is none."""
    place = backups_folder(settings) / name
    if not _NAME.fullmatch(name) or not place.is_file():
        raise not_found(_("backup"))
    return place


async def read_plan(session: AsyncSession) -> BackupPlan:
    """When backups are made by themselves."""
    row = await session.get(SiteSetting, PLAN)
    return BackupPlan() if row is None else msgspec.convert(row.value["value"], BackupPlan)


async def last_backup(session: AsyncSession) -> LastBackup | None:
    """The newest backup that a worker has made."""
    row = await session.get(SiteSetting, LAST)
    return None if row is None else msgspec.convert(row.value["value"], LastBackup)


async def change_plan(runtime: Runtime, viewer: Viewer, plan: BackupPlan) -> BackupPlan:
    """Say when backups are made by themselves."""
    require_administrator(viewer)
    if not 0 <= plan.every_hours <= MOST_HOURS or not 1 <= plan.keep <= MOST_KEPT:
        sentence = _(
            "Backups are made every 1 to {hours} hours, or never (0), and 1 to {count} are kept.",
            hours=MOST_HOURS,
            count=MOST_KEPT,
        )
        raise Refused("invalid", sentence)
    async with runtime.database.write() as session:
        await _keep(session, PLAN, plan, runtime.clock())
    return plan


async def begin_backup(runtime: Runtime, viewer: Viewer) -> Job:
    """Have a worker make a backup now."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        await lock_accounts(session)
        if await _is_being_made(session):
            raise Refused("conflict", _("A backup is being made already. Wait until it is complete."))
        payload = {"name": backup_name("manual", runtime.clock())}
        return await enqueue_job(session, runtime, kind=BACKUP_KIND, owner_id=viewer.user_id, payload=payload)


async def begin_due_backup(runtime: Runtime) -> None:
    """Have a worker make a backup, if the plan says so; of several who look at once, one does it."""
    async with runtime.database.write() as session:
        plan, now = await read_plan(session), runtime.clock()
        if not plan.every_hours:
            return
        await lock_accounts(session)
        last = await last_backup(session)
        is_due = last is None or last.made_at + timedelta(hours=plan.every_hours) - EARLY <= now
        if is_due and not await _is_being_made(session):
            payload = {"name": backup_name("scheduled", now)}
            await enqueue_job(session, runtime, kind=BACKUP_KIND, owner_id=None, payload=payload)


async def carry_out_backup(work: JobWork) -> dict[str, Any]:
    """The job: the file appears when it is complete and was read back; whoever takes it over begins anew."""
    runtime, name = work.runtime, work.claim.payload["name"]
    folder = backups_folder(runtime.settings)
    try:
        await asyncio.to_thread(make_folder, folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackupError(_("The folder {folder} cannot be made: {reason}.", folder=folder, reason=reason)) from error
    target, now = folder / name, runtime.clock()
    if await asyncio.to_thread(target.exists):
        # A worker was gone before it could say so, or this is a job of a restored database: the file is complete.
        manifest = await asyncio.to_thread(read_backup, target)
    else:
        manifest = await _written(work, target, now)
    made = LastBackup(name=name, made_at=now, rows=manifest.rows, size=target.stat().st_size)
    async with runtime.database.write() as session:
        await _keep(session, LAST, made, now)
        plan = await read_plan(session)
    await asyncio.to_thread(_remove_surplus, folder, plan.keep)
    return {"name": name, "rows": made.rows, "size": made.size}


async def _written(work: JobWork, target: Path, now: datetime) -> Manifest:
    """Write the file, in a loop of its own: reading it back would hold up everything else in this one."""
    rows, url = _CountedRows(), work.runtime.settings.resolved_database_url
    writing = asyncio.create_task(asyncio.to_thread(_write, url, target, now, rows))
    try:
        while not writing.done():
            await asyncio.wait({writing}, timeout=PROGRESS_SECONDS)
            await work.report(rows.done, rows.total)
    finally:
        rows.is_stopped = True
        await asyncio.gather(writing, return_exceptions=True)
    return writing.result()


def read_backup(place: Path) -> Manifest:
    """Read a whole backup; raises where it is damaged."""
    with place.open("rb") as file:
        return check_backup(file)


async def take_backup(runtime: Runtime, viewer: Viewer, source: IO[bytes]) -> StoredBackup:
    """Keep a file that somebody has sent, if it is a whole backup."""
    require_administrator(viewer)
    folder = backups_folder(runtime.settings)
    place = folder / backup_name("uploaded", runtime.clock())
    try:
        await asyncio.to_thread(_take, source, place)
    except TavernKitError as error:
        raise Refused("invalid", str(error)) from None
    return next(each for each in await list_backups(runtime, viewer) if each.name == place.name)


async def remove_backup(runtime: Runtime, viewer: Viewer, name: str) -> None:
    """Remove a backup for good."""
    require_administrator(viewer)
    place = stored_backup(runtime.settings, name)
    await asyncio.to_thread(place.unlink, missing_ok=True)


class _CountedRows:
    """How far a backup is, which another thread writes; it ends when it is stopped."""

    def __init__(self) -> None:
        self.done, self.total, self.is_stopped = 0, 0, False

    @contextmanager
    def progress(self, total: int) -> Iterator[Callable[[], None]]:
        self.total = total
        yield self._step

    def _step(self) -> None:
        if self.is_stopped:
            raise BackupError(_("The backup was stopped."))
        self.done += 1


def _write(url: str, target: Path, now: datetime, rows: _CountedRows) -> Manifest:
    return asyncio.run(back_up(url, target, now, progress=rows.progress))


def _take(source: IO[bytes], place: Path) -> None:
    source.seek(0)
    check_backup(source)
    source.seek(0)
    make_folder(place.parent)
    unfinished = place.with_suffix(".part")
    try:
        with unfinished.open("wb") as file:
            make_private(unfinished)
            shutil.copyfileobj(source, file, 1 << 20)
        unfinished.replace(place)
    finally:
        unfinished.unlink(missing_ok=True)


def _listed(folder: Path) -> list[StoredBackup]:
    found: list[StoredBackup] = []
    for file in folder.iterdir() if folder.is_dir() else ():
        match = _NAME.fullmatch(file.name)
        # Somebody else may remove it meanwhile.
        with suppress(FileNotFoundError):
            if match is not None:
                size, origin = file.stat().st_size, msgspec.convert(match[1], BackupOrigin)
                made_at = datetime.strptime(file.name[-19:-4], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
                found.append(StoredBackup(name=file.name, origin=origin, size=size, made_at=made_at))
    return sorted(found, key=lambda backup: (backup.made_at, backup.name), reverse=True)


def _remove_surplus(folder: Path, keep: int) -> None:
    """Those that somebody has made or sent by hand stay."""
    for backup in [each for each in _listed(folder) if each.origin == "scheduled"][keep:]:
        (folder / backup.name).unlink(missing_ok=True)


async def _is_being_made(session: AsyncSession) -> bool:
    waiting = select(Job.id).where(Job.kind == BACKUP_KIND, Job.status.in_(("queued", "running"))).limit(1)
    return await session.scalar(waiting) is not None


async def _keep(session: AsyncSession, key: str, value: Value, now: datetime) -> None:
    await session.merge(SiteSetting(key=key, value={"value": msgspec.to_builtins(value)}, updated_at=now))
