"""ZIP archives of folders, read in place and under limits."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tavernkit.characters.ingest.archive import DIRECTORY_HEADER, ZIP_TROUBLE
from tavernkit.errors import ArchiveParseError
from tavernkit.migration.folders import LINK, NOT_REGULAR, FolderEntry, name_problem, shown

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_ENTRIES = 400_000
MAX_DIRECTORY_BYTES = 96 * 1024 * 1024
MAX_RATIO = 250
# Small files may be as compressible as they like; a ratio says something only about large ones.
RATIO_MATTERS_FROM = 1024 * 1024
TOTAL_MATTERS_FROM = 1024 * 1024 * 1024
_BUFFER = 256 * 1024
_UNPACK = "Unpack the archive, and import the folder."
_TWICE = "The archive has several files of this name. None of them is read."


class ZipTree:
    """The files of an archive, as a tree of folders. No more than the list of them is held in memory."""

    def __init__(self, place: Path) -> None:
        try:
            self._file = place.open("rb")
        except OSError as error:
            raise ArchiveParseError(f"The archive cannot be read: {error.strerror}.") from None
        bounded = _Bounded(self._file)
        try:
            self._zip = zipfile.ZipFile(bounded)
        except ArchiveParseError:
            self._file.close()
            raise
        except ZIP_TROUBLE as error:
            self._file.close()
            raise ArchiveParseError(f"The archive cannot be opened: {error}.") from None
        bounded.is_opened = True
        self._infos: dict[str, zipfile.ZipInfo] = {}
        self._folders: dict[str, dict[str, FolderEntry]] = {"": {}}
        self._strays: dict[str, str] = {}
        for info in self._zip.infolist():
            self._add(info)
        self._check_total(place.stat().st_size)

    def children(self, path: str) -> Iterator[FolderEntry]:
        nodes = self._folders.get(path, {})
        for name in sorted(nodes):
            yield nodes[name]

    def strays(self) -> Iterator[tuple[str, str]]:
        yield from sorted(self._strays.items())

    def open(self, path: str) -> IO[bytes]:
        info = self._infos.get(path)
        if info is None:
            raise ArchiveParseError(f"The archive has no file {path[:200]!r} that can be read.")
        try:
            return io.BufferedReader(_Member(self._zip.open(info)), _BUFFER)
        except ZIP_TROUBLE as error:
            raise ArchiveParseError(f"The file is damaged in the archive: {error}.") from None

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    def _add(self, info: zipfile.ZipInfo) -> None:
        name = _name_of(info).removeprefix("./")
        is_folder = name.endswith("/")
        parts = name.removesuffix("/").split("/")
        problem = next(filter(None, map(name_problem, parts)), "")
        if problem:
            if name and not is_folder:
                self._strays[shown(name)] = problem
            return
        folder = self._folder(parts if is_folder else parts[:-1])
        if is_folder or folder is None:
            if folder is None and not is_folder:
                self._strays[shown(name)] = "The archive has a file where this one has a folder."
            return
        siblings, path = self._folders[folder], "/".join(parts)
        earlier = siblings.get(parts[-1])
        if earlier is not None:
            self._infos.pop(path, None)
            if not earlier.is_folder:
                siblings[parts[-1]] = earlier._replace(problem=_TWICE)
            else:
                self._strays[shown(path)] = "The archive has a folder of the same name."
            return
        problem = _problem_of(info)
        siblings[parts[-1]] = FolderEntry(parts[-1], size=info.file_size, modified=_moment_of(info), problem=problem)
        if not problem:
            self._infos[path] = info

    def _folder(self, parts: list[str]) -> str | None:
        """The path of a folder, which is made where there is none yet; None where a file is in its way."""
        path = ""
        for part in parts:
            siblings = self._folders[path]
            path = f"{path}/{part}" if path else part
            node = siblings.setdefault(part, FolderEntry(part, is_folder=True))
            if not node.is_folder:
                return None
            self._folders.setdefault(path, {})
        return path

    def _check_total(self, size: int) -> None:
        """Files that share their packed bytes each look harmless."""
        total = sum(info.file_size for info in self._infos.values())
        if total > max(TOTAL_MATTERS_FROM, MAX_RATIO * size):
            self.close()
            raise ArchiveParseError(
                f"The archive has {size:,} bytes and says that it holds {total:,}, which is more than {MAX_RATIO} to 1."
            )


class _Bounded(io.RawIOBase):
    """The file of an archive; the list of files that stands at its end must not be longer than anybody needs."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.is_opened = False

    def read(self, size: int = -1) -> bytes:
        if self.is_opened:
            return self._file.read(size)
        data = self._file.read(min(size, MAX_DIRECTORY_BYTES + 1) if size >= 0 else MAX_DIRECTORY_BYTES + 1)
        # Counted here, because an object is made for each of them.
        if len(data) > MAX_DIRECTORY_BYTES or data.count(DIRECTORY_HEADER) > MAX_ENTRIES:
            raise ArchiveParseError(f"The archive has more than {MAX_ENTRIES:,} files. {_UNPACK}")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


class _Member(io.RawIOBase):
    """One file of an archive, which ends where the archive says, and not later."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._file.read(len(view))
        except ZIP_TROUBLE as error:
            raise ArchiveParseError(f"The file is damaged in the archive: {error}.") from None
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _name_of(info: zipfile.ZipInfo) -> str:
    """The name as it stands in the archive. Some programs write UTF-8 and do not say so."""
    name = info.orig_filename
    if info.flag_bits & 0x800 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        return name


def _problem_of(info: zipfile.ZipInfo) -> str:
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode == stat.S_IFLNK:
        return LINK
    if mode not in (0, stat.S_IFREG):
        return NOT_REGULAR
    if info.flag_bits & 0x1:
        return f"The file is encrypted. {_UNPACK}"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"The file is compressed by the method {info.compress_type}; only deflate is read. {_UNPACK}"
    if info.file_size > RATIO_MATTERS_FROM and info.file_size > MAX_RATIO * max(1, info.compress_size):
        return f"The file is compressed more than {MAX_RATIO} to 1, as only a file is that is made to fill disks."
    return ""


def _moment_of(info: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return None
