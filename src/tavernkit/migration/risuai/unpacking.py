"""RisuAI's database file in each of its encodings, laid down unpacked where its parts can be read one by one."""

from __future__ import annotations

import mmap
import tempfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple, Self, TypeAlias

from tavernkit.errors import ParseError, UnsupportedVersionError
from tavernkit.migration.risuai.nodes import MAX_PART_BYTES, DatabaseNode, Encoding, PackedNode
from tavernkit.reading import parse_json
from tavernkit.risuai.files.preset_file import window_of

WHAT = "The RisuAI database"
MAGIC = b"\0RISUSAVE\0"
BLOCKS = b"RISUSAVE\0"
OLD_MAGIC = b"\0\0RISU"
PLAIN, COMPRESSED, STREAMED = 7, 8, 9
POCKET = range(10, 13)
"""The numbers of the encodings; the last are those of PocketRisu."""
CONFIG, ROOT, CHARACTER, PRESETS, MODULES, REMOTE = 0, 1, 2, 4, 5, 6
"""The numbers of the kinds of blocks."""

MAX_DATABASE_BYTES = 2 * 1024 * 1024 * 1024
MAX_RATIO = 200
UNSUSPICIOUS_BYTES = 64 * 1024 * 1024
"""What is larger unpacked than this, and so many times larger than packed, is no database but a bomb."""
MAX_BLOCKS = 200_000
MAX_LINK_BYTES = 64 * 1024
PIECE = 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Remotes: TypeAlias = Callable[[str], IO[bytes] | None]
"""Finds the file of a block that lies beside the database, by the block's name."""


class UnpackedDatabase(NamedTuple):
    """The fields of the database in their order; those of `lists` lie apart, and count more than fields of their
    names. `missing` has a sentence for each block that cannot be read, by the name of the block."""

    fields: Mapping[str, DatabaseNode]
    lists: Mapping[str, list[DatabaseNode]]
    missing: Mapping[str, str]


def is_database(head: bytes) -> bool:
    """Whether a file begins as only RisuAI's databases do."""
    return head.startswith((MAGIC, BLOCKS, OLD_MAGIC))


def is_compressed(head: bytes) -> bool:
    """Whether a file begins as those that gzip and zlib write."""
    return head.startswith((b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda"))


def read_database(file: IO[bytes], remotes: Remotes) -> UnpackedDatabase:
    """Read a database; raises ParseError, or UnsupportedVersionError for an encoding that nobody here reads."""
    head = file.read(len(MAGIC) + 1)
    is_packed = is_compressed(head)
    if head.startswith(MAGIC):
        is_packed = _check_encoding(head[len(MAGIC) :]) != PLAIN
    with Workspace() as workspace:
        if head.startswith(BLOCKS):
            file.seek(len(BLOCKS))
            return _read_blocks(file, remotes, workspace)
        if not head.startswith(MAGIC):
            file.seek(len(OLD_MAGIC) if head.startswith(OLD_MAGIC) else 0)
        if is_packed:
            workspace.inflate(file)
        else:
            workspace.copy(file)
        return _of_one(workspace.opened())


def _check_encoding(code: bytes) -> int:
    number = code[0] if code else -1
    if number in POCKET:
        raise UnsupportedVersionError(
            "The database is in a format of PocketRisu, which is not read here. In PocketRisu, make a backup in "
            "RisuAI's format or export single characters and chats, and import those."
        )
    if number not in (PLAIN, COMPRESSED, STREAMED):
        raise UnsupportedVersionError(
            f"The database is in an encoding of the number {number}, which is not known here. Make a backup in RisuAI, "
            "and import that."
        )
    return number


def _of_one(data: memoryview) -> UnpackedDatabase:
    """A database in one piece, whichever of the two ways it is written."""
    head = bytes(data[:4])
    start = 3 if head.startswith(BYTE_ORDER_MARK) else 0
    encoding: Encoding = "json" if head[start : start + 1] == b"{" else "msgpack"
    fields = PackedNode(data[start:], encoding, WHAT).fields()
    if fields is None or "characters" not in fields:
        raise ParseError("This is no database of RisuAI: it has no characters.")
    return UnpackedDatabase(fields, {}, {})


class _Block(NamedTuple):
    """A block by its kind and name, and where its content begins and ends once it is unpacked."""

    kind: int
    name: str
    start: int
    end: int


def _read_blocks(file: IO[bytes], remotes: Remotes, workspace: Workspace) -> UnpackedDatabase:
    missing: dict[str, str] = {}
    blocks = _unpack_blocks(file, remotes, workspace, missing)
    data = workspace.opened()
    fields: dict[str, DatabaseNode] = {}
    lists: dict[str, list[DatabaseNode]] = {"characters": []}
    directory: list[DatabaseNode] = []
    for kind, name, start, end in blocks:
        node = PackedNode(data[start:end], "json", WHAT)
        if kind == ROOT:
            own = dict(node.fields() or {})
            directory = (own["__directory"].items() or []) if "__directory" in own else directory
            fields = {key: value for key, value in own.items() if not key.startswith("__")} | fields
        elif kind == CHARACTER:
            lists["characters"].append(node)
        elif kind in (PRESETS, MODULES):
            lists["botPresets" if kind == PRESETS else "modules"] = node.items() or []
        elif kind != CONFIG:
            missing[name] = f"This part of the database is of the kind {kind}, which is not known here."
    names = {block.name for block in blocks}
    for listed in (node.value() for node in directory):
        if isinstance(listed, str) and listed not in names:
            missing.setdefault(listed, "RisuAI lists this part of the database, but the file does not contain it.")
    if not fields and not lists["characters"]:
        raise ParseError("This is no database of RisuAI: there are no readable parts in it.")
    return UnpackedDatabase(fields, lists, missing)


def _unpack_blocks(file: IO[bytes], remotes: Remotes, workspace: Workspace, missing: dict[str, str]) -> list[_Block]:
    """The blocks in their order; the last one may be cut off."""
    blocks: list[_Block] = []
    while head := file.read(3):
        if len(blocks) >= MAX_BLOCKS:
            raise ParseError(f"The database has more than {MAX_BLOCKS:,} blocks.")
        name = file.read(head[2]).decode("utf-8", "replace") if len(head) == 3 else ""
        length = file.read(4)
        size = int.from_bytes(length, "little")
        if len(length) < 4 or size > _left(file):
            missing[name or "database"] = "The database is cut off here. What stands before it was read."
            break
        end, kind = file.tell() + size, head[0]
        if kind == REMOTE:
            beside = remotes(name)
            if beside is None:
                missing[name] = "This part lies in a file beside the database, which is not there."
            else:
                kind = _kind_of_remote(file.read(min(size, MAX_LINK_BYTES)))
                with beside:
                    blocks.append(_Block(kind, name, *workspace.copy(beside, MAX_PART_BYTES)))
        else:
            try:
                place = workspace.inflate(file, size) if head[1] == 1 else workspace.copy(file, size)
                blocks.append(_Block(kind, name, *place))
            except ParseError as error:
                missing[name] = str(error)
        file.seek(end)
    return blocks


def _kind_of_remote(data: bytes) -> int:
    about = parse_json(data, what="A link of the RisuAI database")
    kind = about.get("type") if isinstance(about, dict) else None
    return kind if isinstance(kind, int) else CHARACTER


def _left(file: IO[bytes]) -> int:
    here = file.tell()
    end = file.seek(0, 2)
    file.seek(here)
    return end - here


class Workspace:
    """A file that is gone with the process, for what is too large to be held in memory."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed where this is left
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def copy(self, file: IO[bytes], size: int = MAX_DATABASE_BYTES) -> tuple[int, int]:
        """Take over so many bytes, or all there are; where they begin and end."""
        start = self._size
        while size and (piece := file.read(min(PIECE, size))):
            self._write(piece)
            size -= len(piece)
        return start, self._size

    def inflate(self, file: IO[bytes], size: int = MAX_DATABASE_BYTES) -> tuple[int, int]:
        """Take over what so many bytes unpack to; where it begins and ends. Raises ParseError."""
        start, taken = self._size, 0
        inflater: zlib._Decompress | None = None
        try:
            while size and (packed := file.read(min(PIECE, size))):
                size -= len(packed)
                taken += len(packed)
                inflater = inflater or zlib.decompressobj(window_of(packed))
                while packed:
                    self._write(inflater.decompress(packed, PIECE))
                    packed = inflater.unconsumed_tail
                    if self._size - start > max(UNSUSPICIOUS_BYTES, taken * MAX_RATIO):
                        raise ParseError(f"{WHAT} unpacks to more than {MAX_RATIO} times its size.")
                if inflater.eof:
                    break
        except zlib.error as error:
            raise ParseError(f"{WHAT} is damaged: {error}.") from None
        if inflater is None or not inflater.eof:
            raise ParseError(f"{WHAT} is cut off inside its packed part.")
        return start, self._size

    def opened(self) -> memoryview:
        """Everything that was taken over, which stays when the file is closed."""
        self._file.flush()
        # Nothing cannot be mapped.
        return memoryview(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if self._size else b"")

    def _write(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_DATABASE_BYTES:
            raise ParseError(f"{WHAT} unpacks to more than {MAX_DATABASE_BYTES:,} bytes.")
        self._file.write(data)
