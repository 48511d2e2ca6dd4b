"""Files below one place, whoever has put them there: nothing outside of it is ever read."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

from tavernkit.errors import ParseError
from tavernkit.migration.names import LONGEST_NAME

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LINK = "This is a link. Links are not followed: put a copy of the file or folder in its place."
NOT_REGULAR = "This is a device, a pipe or a socket, not a file."
CHANGED = "The file changed while it was read. Close the application that writes it, and import it again."
_LONGEST_PATH = 4000
_BUFFER = 256 * 1024
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class FolderEntry(NamedTuple):
    """A file or a folder. With a `problem` it is neither read nor walked; the sentence says why."""

    name: str
    is_folder: bool = False
    size: int = 0
    modified: datetime | None = None
    problem: str = ""


class Tree(Protocol):
    """A folder or an archive. Paths have slashes; the place itself is ""."""

    def children(self, path: str) -> Iterator[FolderEntry]:
        """What is in a folder, by name. Raises ParseError where that cannot be found out."""

    def strays(self) -> Iterator[tuple[str, str]]:
        """Names that belong to no folder, each with a sentence that says why."""

    def open(self, path: str) -> IO[bytes]:
        """The bytes of a file; ParseError where they cannot be read, also while they are."""

    def close(self) -> None: ...


def walk(tree: Tree, place: str) -> Iterator[tuple[str, FolderEntry]]:
    """Every file below a folder with its path from there, and everything that has a problem."""
    waiting = [("", _listed(tree, place))]
    while waiting:
        prefix, nodes = waiting[-1]
        node = next(nodes, None)
        if node is None:
            waiting.pop()
        elif node.is_folder and not node.problem:
            path = f"{prefix}{node.name}"
            waiting.append((f"{path}/", _listed(tree, joined(place, path))))
        else:
            yield shown(f"{prefix}{node.name}".rstrip("/")), node


def joined(place: str, path: str) -> str:
    return f"{place}/{path}" if place and path else place or path


def shown(path: str) -> str:
    """A path as it can be stored and printed."""
    return path if path.isascii() and "\0" not in path else _UNSTORABLE.sub(lambda bad: f"\\x{ord(bad[0]):02x}", path)


def name_problem(name: str) -> str:
    """Why nothing of this name is read, or ""."""
    if name in ("", ".", ".."):
        return "The name is unsafe: it leaves the folder."
    if "/" in name or "\\" in name:
        return "The name is unsafe: it contains a backslash."
    if re.match(r"[A-Za-z]:", name):
        return "The name is unsafe: it begins with a drive letter."
    if _UNSTORABLE.search(name):
        return "The name is not valid UTF-8. Rename the file."
    if len(name.encode()) > LONGEST_NAME:
        return f"The name has more than {LONGEST_NAME} bytes. Rename the file."
    return ""


def moment(seconds: float) -> datetime | None:
    """A time of the file system, None for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _listed(tree: Tree, place: str) -> Iterator[FolderEntry]:
    """What is in a folder; one that cannot be listed counts as a nameless file with a problem."""
    try:
        yield from tree.children(place)
    except ParseError as error:
        yield FolderEntry("", problem=str(error))


class FolderTree:
    """A folder on this machine. Links in it are not followed, wherever they lead."""

    def __init__(self, place: Path) -> None:
        self._root = os.path.realpath(place)

    def children(self, path: str) -> Iterator[FolderEntry]:
        folder = os.path.join(self._root, path) if path else self._root
        try:
            # Names alone: in a folder with a million files, anything more would be felt.
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError as error:
            raise ParseError(f"The folder cannot be read: {error.strerror}.") from None
        for name in names:
            yield node_at(folder, name)

    def strays(self) -> Iterator[tuple[str, str]]:
        yield from ()

    def open(self, path: str) -> IO[bytes]:
        full = os.path.join(self._root, *path.split("/"))
        problem = next(filter(None, map(name_problem, path.split("/"))), "")
        if problem or not _is_plain(full):
            raise ParseError(problem or LINK)
        try:
            handle = os.open(full, _OPEN)
        except OSError as error:
            raise ParseError(f"The file cannot be read: {error.strerror}.") from None
        file = io.FileIO(handle)
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            file.close()
            raise ParseError(NOT_REGULAR)
        return io.BufferedReader(_WatchedFile(file, found), _BUFFER)

    def close(self) -> None:
        """Nothing is held open."""


def node_at(folder: str, name: str) -> FolderEntry:
    """What is in a folder under a name."""
    problem = name_problem(name)
    if problem:
        return FolderEntry(name, problem=problem)
    path = os.path.join(folder, name)
    try:
        found = os.lstat(path)
    except OSError as error:
        return FolderEntry(name, problem=f"The file cannot be read: {error.strerror}.")
    if stat.S_ISLNK(found.st_mode):
        return FolderEntry(name, problem=LINK)
    if stat.S_ISDIR(found.st_mode):
        return FolderEntry(name, is_folder=True)
    if not stat.S_ISREG(found.st_mode):
        return FolderEntry(name, problem=NOT_REGULAR)
    problem = "" if os.access(path, os.R_OK) else "The file cannot be read: permission denied."
    if len(path) > _LONGEST_PATH:
        problem = f"The path has more than {_LONGEST_PATH} characters."
    return FolderEntry(name, size=found.st_size, modified=moment(found.st_mtime), problem=problem)


def _is_plain(path: str) -> bool:
    """Whether nothing on the way is a link."""
    return os.path.normcase(os.path.realpath(path)) == os.path.normcase(path)


class _WatchedFile(io.RawIOBase):
    """A file that must stay what it was when it was opened."""

    def __init__(self, file: io.FileIO, found: os.stat_result) -> None:
        self._file = file
        self._found = found
        self._left = found.st_size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)[: self._left]
        try:
            count = self._file.readinto(view) or 0 if self._left else 0
            now = os.fstat(self._file.fileno())
        except OSError as error:
            raise ParseError(f"The file cannot be read: {error.strerror}.") from None
        self._left -= count
        is_cut = count == 0 and self._left > 0
        if is_cut or (now.st_size, now.st_mtime_ns) != (self._found.st_size, self._found.st_mtime_ns):
            raise ParseError(CHANGED)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
