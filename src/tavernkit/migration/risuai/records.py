"""`.bin`: RisuAI's full backup, records one after the other, each a name and its bytes."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import IO, NamedTuple

from tavernkit.errors import ParseError

MAX_RECORDS = 1_000_000
MAX_NAME_BYTES = 1024
_LENGTH = struct.Struct("<I")


class Record(NamedTuple):
    """Where the bytes of a record are."""

    start: int
    size: int


class RecordIndex(NamedTuple):
    """The records by name, the last of each; `cut` says where and why reading ended before the end of the file."""

    records: dict[str, Record]
    cut: str = ""


def read_records(file: IO[bytes]) -> RecordIndex:
    """Find all records; reads no more than their names. What is no backup has no records."""
    size = file.seek(0, io.SEEK_END)
    records: dict[str, Record] = {}
    position = 0
    for _ in range(MAX_RECORDS):
        if position == size:
            return RecordIndex(records)
        file.seek(position)
        found = _read_head(file)
        if found is None:
            return RecordIndex(records, f"The backup is cut off or damaged at byte {position:,}.")
        name, length = found
        start = file.tell()
        if start + length > size:
            return RecordIndex(
                records,
                f"The backup is cut off: {name[:100]!r} should have {length:,} bytes, {size - start:,} are left.",
            )
        records[name] = Record(start, length)
        position = start + length
    return RecordIndex(records, f"The backup has more than {MAX_RECORDS:,} records; the others were not read.")


def _read_head(file: IO[bytes]) -> tuple[str, int] | None:
    """The name of a record and the length of its bytes; None for what is no head of a record."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if not 0 < length <= MAX_NAME_BYTES:
        return None
    name, size = file.read(length), file.read(_LENGTH.size)
    try:
        return (name.decode(), _LENGTH.unpack(size)[0]) if len(size) == _LENGTH.size else None
    except UnicodeDecodeError:
        return None


def write_head(file: IO[bytes], name: str, size: int) -> None:
    """Write what stands before the bytes of a record; raises ParseError for what RisuAI could not read back."""
    encoded = name.encode()
    if not 0 < len(encoded) <= MAX_NAME_BYTES or size >= 2**32:
        raise ParseError(f"{name[:100]!r} cannot be part of a backup: its name or its content is too long.")
    file.write(_LENGTH.pack(len(encoded)) + encoded + _LENGTH.pack(size))


class Section(io.RawIOBase):
    """Some bytes of a file, with a handle of its own, so that several can be read at once."""

    def __init__(self, path: Path, record: Record) -> None:
        super().__init__()
        self._file = path.open("rb")
        self._record = record
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._record.size}[whence]
        self._at = max(0, begin + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), max(0, self._record.size - self._at))
        self._file.seek(self._record.start + self._at)
        data = self._file.read(wanted)
        if len(data) < wanted:
            raise ParseError("The file was changed while it was read. Import it again.")
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
