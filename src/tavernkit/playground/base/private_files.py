"""Files and folders that only their owner may read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter; one that is there keeps its permissions."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def make_private(path: Path) -> None:
    """Take a file or a folder of ours from everybody else. Nothing is opened: closing an SQLite file ends its locks."""
    mode = FOLDER_MODE if path.is_dir() else FILE_MODE
    # One that is not there, or that is somebody else's, stays as it is.
    with suppress(FileNotFoundError, PermissionError):
        if path.stat().st_mode & 0o077:
            path.chmod(mode)


def write_once(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a whole file or nothing. One that is there is left alone, unless it is to be replaced.

    Whatever stops the writing, a full disk or a power cut, no part of a file is ever seen at this path.
    """
    written = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            written.replace(path)
        else:
            # Unlike a rename, a link is refused where another process was faster.
            with suppress(FileExistsError):
                path.hardlink_to(written)
        _sync(path.parent)
    finally:
        written.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
