"""What takes up room: the database by kinds of data, the folders beside it, and what the disk has left."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, cast, func, select, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.administration.backups import backups_folder
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    CharacterVersion,
    JobFile,
    KeptPiece,
    LorebookEntry,
    OutboxEvent,
    PromptBlock,
    PromptPiece,
    PromptSnapshot,
    TextContent,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

MEASURED: Mapping[str, tuple[InstrumentedAttribute[Any], ...]] = {
    "texts": (TextContent.content,),
    "files": (Blob.data,),
    "kept_imports": (KeptPiece.data,),
    "prompts": (
        PromptPiece.data,
        PromptPiece.links,
        PromptBlock.content,
        PromptSnapshot.blocks,
        PromptSnapshot.request,
        PromptSnapshot.report,
    ),
    "characters": (Character.data, CharacterVersion.data),
    "lorebooks": (LorebookEntry.data,),
    "events": (OutboxEvent.payload,),
    "job_files": (JobFile.data,),
}
"""The columns that can grow large, by what they are for; the first counts."""


class StoredKind(Value, frozen=True, kw_only=True):
    """What one kind of data takes up in the database, without its indexes."""

    kind: str
    rows: int
    size: int


class FolderUse(Value, frozen=True, kw_only=True):
    """What a folder of the data folder takes up."""

    folder: str
    files: int
    size: int


class StorageUse(Value, frozen=True, kw_only=True):
    """What takes up room, in bytes. `database` includes indexes and what is not measured by kind."""

    database: int
    kinds: tuple[StoredKind, ...]
    folders: tuple[FolderUse, ...]
    disk_free: int
    disk_total: int


async def storage_use(runtime: Runtime, viewer: Viewer) -> StorageUse:
    """Measure everything. It reads long tables once, and for several who ask at a time only once."""
    require_administrator(viewer)
    return await runtime.shared.do("storage", lambda: _measured(runtime))


async def _measured(runtime: Runtime) -> StorageUse:
    settings = runtime.settings
    async with runtime.database.read() as session:
        kinds = [await _kind(session, kind, columns) for kind, columns in MEASURED.items()]
        database = await _database_size(session, runtime)
    folders = {
        "backups": backups_folder(settings), "imports": settings.imports_dir, "exports": settings.data_dir / "exports",
    }  # fmt: skip
    uses = [await asyncio.to_thread(_folder, name, place) for name, place in folders.items()]
    disk = await asyncio.to_thread(shutil.disk_usage, _existing(settings.data_dir))
    return StorageUse(
        database=database,
        kinds=tuple(sorted(kinds, key=lambda kind: kind.size, reverse=True)),
        folders=tuple(uses),
        disk_free=disk.free,
        disk_total=disk.total,
    )


async def _kind(session: AsyncSession, kind: str, columns: tuple[InstrumentedAttribute[Any], ...]) -> StoredKind:
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    rows, size = 0, 0
    for place, column in enumerate(columns):
        query = select(func.count(column), func.coalesce(func.sum(_bytes(column, is_postgresql)), 0))
        count, total = (await session.execute(query)).one()
        rows, size = rows if place else count, size + int(total)
    return StoredKind(kind=kind, rows=rows, size=size)


def _bytes(column: InstrumentedAttribute[Any], is_postgresql: bool) -> ColumnElement[int]:
    return func.octet_length(column) if is_postgresql else func.length(cast(column, LargeBinary))


async def _database_size(session: AsyncSession, runtime: Runtime) -> int:
    if runtime.database.is_postgresql:
        return await session.scalar(select(func.pg_database_size(func.current_database()))) or 0
    pages = await session.scalar(text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"))
    return pages or 0


def _folder(name: str, place: Path) -> FolderUse:
    sizes = [
        os.lstat(os.path.join(folder, file)).st_size
        for folder, _, files in os.walk(place)
        for file in files
    ]  # fmt: skip
    return FolderUse(folder=name, files=len(sizes), size=sum(sizes))


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())
