"""Files that somebody sends: streamed into a folder of the import's own, where the worker finds them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
from collections.abc import AsyncIterator
from datetime import datetime
from io import BufferedWriter
from pathlib import Path
from uuid import UUID

from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.errors import StorageFullError, is_without_room
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.private_files import FILE_MODE, make_folder
from tavernkit.playground.base.refused import Refused
from tavernkit.values import Value

MAX_PATH_BYTES = 1000
MAX_NAME_BYTES = 255
MAX_DEPTH = 32
WRITTEN_AT_ONCE = 1024 * 1024

_NO_FILE_NAMES = {"", ".", ".."}
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\\\\]")


def upload_folder(settings: AppConfig, import_id: UUID) -> Path:
    """Where the files of an import lie."""
    return settings.imports_dir / str(import_id)


def checked_path(path: str) -> tuple[str, ...]:
    """The names of the folders and of the file in a path that somebody gives, if it stays below its folder."""
    names = tuple(path.split("/"))
    is_safe = (
        len(names) <= MAX_DEPTH
        and len(path.encode(errors="replace")) <= MAX_PATH_BYTES
        and not any(name in _NO_FILE_NAMES or len(name.encode(errors="replace")) > MAX_NAME_BYTES for name in names)
        and not _UNSAFE.search(path)
    )
    if not is_safe:
        raise Refused("invalid", _("The path {path} is not a file below the folder.", path=ascii(path[:200])))
    return names


async def write_incoming(folder: Path, name: str, pieces: AsyncIterator[bytes], limit: int) -> tuple[Path, int]:
    """Write a file beside the folder, from where it is moved when it is whole; its place, and its bytes."""
    beside = folder.with_name(f"{folder.name}.part")
    incoming, size, waiting = beside / name, 0, bytearray()
    for made in (folder.parent, folder, beside):
        await asyncio.to_thread(make_folder, made)
    try:
        with await asyncio.to_thread(_create, incoming) as file:
            async for piece in pieces:
                waiting += piece
                size += len(piece)
                if size > limit:
                    raise too_many_bytes()
                if len(waiting) >= WRITTEN_AT_ONCE:
                    await asyncio.to_thread(file.write, bytes(waiting))
                    waiting.clear()
            await asyncio.to_thread(file.write, bytes(waiting))
    except OSError as error:
        _remove_file(incoming)
        raise _named(error) from error
    except BaseException:
        # Also where whoever sends it hangs up, and the request is cancelled.
        _remove_file(incoming)
        raise
    return incoming, size


def too_many_bytes() -> Refused:
    """Why no more is received."""
    return Refused(
        "too_large",
        _("The upload is larger than this server accepts. Ask its owner to import the folder with `tavernkit import`."),
    )


def size_at(folder: Path, names: tuple[str, ...]) -> int | None:
    """How many bytes the file has that was sent for this path before."""
    target = folder.joinpath(*names)
    return target.stat().st_size if target.is_file() else None


class SentFile(Value, frozen=True, kw_only=True):
    """A file as whoever sends it sees it; `modified` is in milliseconds since 1970."""

    path: str
    size: int
    modified: int


def has_arrived(folder: Path, file: SentFile) -> bool:
    """Whether the same file was sent before: of the same path, size and time. What cannot be sent has not arrived."""
    try:
        found = folder.joinpath(*checked_path(file.path)).stat()
    except (Refused, OSError):
        return False
    return stat.S_ISREG(found.st_mode) and (found.st_size, round(found.st_mtime * 1000)) == (file.size, file.modified)


def move_into(folder: Path, names: tuple[str, ...], incoming: Path, modified: datetime | None) -> None:
    """Put a whole file into its place; one that was sent for the same path before is replaced."""
    target = folder.joinpath(*names)
    try:
        make_folder(target.parent)
        if modified is not None:
            os.utime(incoming, (modified.timestamp(), modified.timestamp()))
        incoming.replace(target)
    except OSError as error:
        _remove_file(incoming)
        raise _named(error) from error


def place_of(folder: Path) -> Path:
    """What is to be imported: an archive or backup that came alone, or the folder of everything that came."""
    files = [entry for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else []
    folders = any(entry.is_dir() for entry in folder.iterdir()) if folder.is_dir() else False
    if not files and not folders:
        raise Refused("conflict", _("No files have arrived. Send a folder, an archive or a backup first."))
    return files[0] if len(files) == 1 and not folders else folder


def remove_upload(folder: Path) -> None:
    """Remove the files of an import that are ours, as far as they are there."""
    for found in (folder, folder.with_name(f"{folder.name}.part")):
        shutil.rmtree(found, ignore_errors=True)


def _create(path: Path) -> BufferedWriter:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb")


def _remove_file(path: Path) -> None:
    path.unlink(missing_ok=True)


def _named(error: OSError) -> Exception:
    if is_without_room(error):
        return StorageFullError(error)
    return Refused("invalid", _("A file cannot be stored at this path: {reason}", reason=error.strerror or str(error)))
