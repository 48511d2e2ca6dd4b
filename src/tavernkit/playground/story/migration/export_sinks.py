"""Where an export goes: a folder, or a ZIP archive. Each file is written piece by piece."""

from __future__ import annotations

import os
import zipfile
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, Self

from anyio import to_thread

from tavernkit.migration.names import folded
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused

_EPOCH = (1980, 1, 1, 0, 0, 0)
_LAST_YEAR = 2107
_COMPRESSED = frozenset(
    (".png", ".webp", ".jpg", ".jpeg", ".gif", ".mp3", ".mp4", ".webm", ".ogg", ".zip", ".charx", ".risum", ".bin")
)
"""What does not get smaller."""


class ExportSink(Protocol):
    """Takes files one after the other."""

    async def write(self, path: str, pieces: AsyncIterator[bytes], modified: datetime | None) -> int:
        """Write a file, and say how many bytes it has. Refuses a path that cannot be written here."""


class FolderSink:
    """A folder. Who looks into it sees each file as a whole or not at all."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._written: dict[str, Path] = {}

    async def write(self, path: str, pieces: AsyncIterator[bytes], modified: datetime | None) -> int:
        target = self._place.joinpath(*_checked(path).parts)
        before = self._written.setdefault(folded(path), target)
        if before != target and target.exists() and target.samefile(before):
            raise Refused(
                "conflict",
                _(
                    "Not written: this file system takes it for “{path}”. Export a ZIP archive instead.",
                    path=before.relative_to(self._place).as_posix(),
                ),
            )
        beside = target.with_name(f".tavernkit-{os.getpid()}.tmp")
        await to_thread.run_sync(lambda: target.parent.mkdir(parents=True, exist_ok=True))
        try:
            size = await _write_all(await to_thread.run_sync(beside.open, "wb"), pieces)
            if modified is not None:
                os.utime(beside, (modified.timestamp(), modified.timestamp()))
            await to_thread.run_sync(beside.replace, target)
        finally:
            beside.unlink(missing_ok=True)
        return size


class ZipSink:
    """A ZIP archive, which must be closed before its file. The same files give the same bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)

    async def write(self, path: str, pieces: AsyncIterator[bytes], modified: datetime | None) -> int:
        known = modified is not None and _EPOCH[0] <= modified.year <= _LAST_YEAR
        entry = zipfile.ZipInfo(str(_checked(path)), modified.timetuple()[:6] if modified and known else _EPOCH)
        is_small = PurePosixPath(path.lower()).suffix in _COMPRESSED
        entry.compress_type = zipfile.ZIP_STORED if is_small else zipfile.ZIP_DEFLATED
        entry.create_system, entry.external_attr = 3, 0o644 << 16
        return await _write_all(self._archive.open(entry, "w", force_zip64=True), pieces)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what an archive ends with."""
        self._archive.close()


async def _write_all(file: IO[bytes], pieces: AsyncIterator[bytes]) -> int:
    size = 0
    try:
        async for piece in pieces:
            size += await to_thread.run_sync(file.write, piece)
    finally:
        await to_thread.run_sync(file.close)
    return size


def _checked(path: str) -> PurePosixPath:
    """The path, if it stays below the folder."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or str(pure) != path:
        raise Refused("invalid", _("Not written: the path “{path}” is not safe.", path=path))
    return pure
