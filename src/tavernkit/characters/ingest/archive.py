"""ZIP archives from strangers, read in memory and under limits."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib

from tavernkit.characters.character import Asset
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ArchiveParseError
from tavernkit.reading import ReportBuilder

# Everything that zipfile is known to raise on damaged or hostile input.
ZIP_TROUBLE = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    zlib.error,
    ValueError,
    LookupError,
)
DIRECTORY_HEADER = b"PK\x01\x02"
LONGEST_NAME = 1024
# Small files may be as compressible as they like; a ratio says something only about large ones.
RATIO_MATTERS_FROM = 1024 * 1024


class Archive:
    """An opened archive. All reads share one budget; the sizes that the archive states are never relied on."""

    def __init__(self, data: bytes, limits: CardLimits) -> None:
        self._limits = limits
        self._size = len(data)
        self._spent: dict[str, int] = {}
        # Counted before opening, because zipfile builds an object for each of them.
        if data.count(DIRECTORY_HEADER) > limits.archive_entries:
            raise ArchiveParseError(f"The archive contains more than {limits.archive_entries:,} files.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except ZIP_TROUBLE as error:
            raise ArchiveParseError(f"The archive cannot be opened: {error}.") from None
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in self._zip.infolist():
            _check_entry(entry)
            if not entry.is_dir():
                self._entries[entry.filename] = entry

    @property
    def names(self) -> tuple[str, ...]:
        """The files inside, without folders, in the order of the archive."""
        return tuple(self._entries)

    @property
    def start(self) -> int:
        """Where the archive begins, when something else stands before it."""
        return min((entry.header_offset for entry in self._entries.values()), default=0)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def asset(self, name: str) -> Asset:
        """One file, to be read when somebody asks for it."""
        return Asset(name=name, uri=f"embeded://{name}", load=lambda: self.read(name))

    def picture(self, name: str, report: ReportBuilder) -> bytes | None:
        """The main picture; None, with a note, when it cannot be read."""
        try:
            return self.read(name)
        except ArchiveParseError as error:
            report.broken(name, f"the main picture cannot be read: {error}")
            return None

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        entry = self._entries.get(name)
        if entry is None:
            raise ArchiveParseError(f"The archive has no file {name[:200]!r}.")
        spent_elsewhere = sum(self._spent.values()) - self._spent.get(name, 0)
        allowed = min(self._limits.archive_entry_bytes, self._limits.archive_total_bytes - spent_elsewhere)
        data = b""
        if entry.file_size <= allowed:
            try:
                with self._zip.open(entry) as file:
                    data = file.read(allowed + 1)
            except ZIP_TROUBLE as error:
                raise ArchiveParseError(f"The file {name!r} in the archive is damaged: {error}.") from None
        if entry.file_size > allowed or len(data) > allowed:
            raise ArchiveParseError(f"The file {name!r} in the archive is larger than the {allowed:,} bytes allowed.")
        self._spent[name] = len(data)
        packed = max(1, min(entry.compress_size, self._size))
        if len(data) > RATIO_MATTERS_FROM and len(data) / packed > self._limits.archive_ratio:
            raise ArchiveParseError(
                f"The file {name!r} in the archive is compressed more than {self._limits.archive_ratio} to 1."
            )
        return data


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.orig_filename
    if entry.flag_bits & 0x1:
        raise ArchiveParseError(f"The file {name[:200]!r} in the archive is encrypted. Export it without a password.")
    if _is_unsafe(name):
        raise ArchiveParseError(f"The archive contains a file with an unsafe name: {name[:200]!r}.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveParseError(
            f"The file {name[:200]!r} is compressed by method {entry.compress_type}; only deflate is read."
        )


def _is_unsafe(name: str) -> bool:
    return (
        not name
        or len(name) > LONGEST_NAME
        or name.startswith("/")
        or "\\" in name
        or "\0" in name
        or ".." in name.split("/")
        or re.match(r"[A-Za-z]:", name) is not None
    )
