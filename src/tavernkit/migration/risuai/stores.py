"""Where RisuAI keeps things: a backup, the `save` folder of its Node server, the folder of its desktop application, or
a database file alone. Each as files under the same names."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Protocol

from tavernkit.errors import ParseError
from tavernkit.migration.risuai.records import Record, RecordIndex, Section, read_records
from tavernkit.migration.risuai.unpacking import is_compressed, is_database
from tavernkit.values import Value

DATABASE = "database/database.bin"
BACKED_UP_DATABASE = "database.risudat"
ENCRYPTED = "encryption.risudat"
ASSETS = "assets/"
COLD = "coldstorage/"
REMOTES = "remotes/"
ENCRYPTED_SENTENCE = (
    "This backup is encrypted with a RisuAI account, and its key is only on RisuAI's server. In RisuAI, make a backup "
    "without account encryption (sign out of the account, or save a local backup), and import that."
)
MAX_FILES = 2_000_000
_UUID = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_COLD_RECORD = re.compile(rf"(?:coldstorage[/_])?({_UUID})\.json")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_DATABASE_NAME = re.compile(r"(?:dbbackup-\d+|database)\.bin|.*\.risudat", re.IGNORECASE)


class StoredFile(Value, frozen=True, kw_only=True):
    """A file of a store: its bytes are those of a file on disk, or a part of one."""

    path: Path
    start: int = 0
    size: int
    modified: datetime | None = None

    def open(self) -> IO[bytes]:
        """The bytes; raises ParseError where they cannot be read."""
        try:
            return io.BufferedReader(Section(self.path, Record(self.start, self.size)))
        except OSError as error:
            raise ParseError(f"The file cannot be read: {error.strerror}.") from None


class Store(Value, frozen=True, kw_only=True):
    """Files by RisuAI's names for them, such as `assets/…`; `database` is that of the database. `secret` are names
    that nobody reads, and `refused` has a sentence for each file that is not read."""

    files: Mapping[str, StoredFile]
    database: StoredFile | None = None
    secret: Mapping[str, int] = {}
    refused: Mapping[str, str] = {}

    def open(self, *names: str) -> IO[bytes] | None:
        """The first of these files that is there."""
        found = next((self.files[name] for name in names if name in self.files), None)
        return None if found is None else found.open()


class _Opener(Protocol):
    def __call__(self, place: Path) -> Store | None: ...


def open_store(place: Path) -> Store | None:
    """What is at a place; None where it is nothing of RisuAI's. Raises ParseError for what cannot be read."""
    openers: tuple[_Opener, ...] = (_open_node, _open_desktop) if place.is_dir() else (_open_database, _open_backup)
    return next((store for store in (opener(place) for opener in openers) if store is not None), None)


def _open_database(place: Path) -> Store | None:
    with place.open("rb") as file:
        head = file.read(16)
    if not is_database(head) and not (_DATABASE_NAME.fullmatch(place.name) and _may_be_database(head)):
        return None
    return Store(files={}, database=_on_disk(place))


def _may_be_database(head: bytes) -> bool:
    """Whether a file begins as MessagePack or packed data does; a backup begins with the length of a short name."""
    is_map = b"\x80" <= head[:1] < b"\x90" or head[:1] in (b"\xde", b"\xdf")
    return is_map or is_compressed(head) or head[:1] == b"{"


def _open_backup(place: Path) -> Store | None:
    with place.open("rb") as opened:
        index = read_records(opened)
    if not index.records or not _is_backup(index):
        return None
    if ENCRYPTED in index.records:
        raise ParseError(ENCRYPTED_SENTENCE)
    files: dict[str, StoredFile] = {}
    refused: dict[str, str] = {}
    database: StoredFile | None = None
    modified = _modified(place)
    for name, record in index.records.items():
        file = StoredFile(path=place, start=record.start, size=record.size, modified=modified)
        if name == BACKED_UP_DATABASE:
            database = file
        elif (path := _path_of_record(name)) is None:
            refused[name] = "The name of this record is not safe, so it was not read."
        else:
            files[path] = file
    if index.cut:
        refused[place.name] = f"{index.cut} What stands before it was read."
    if database is None:
        refused[BACKED_UP_DATABASE] = (
            "The backup has no database, only pictures and other files: no characters and no chats. Make a new backup "
            "in RisuAI, and import that."
        )
    return Store(files=files, database=database, refused=refused)


def _is_backup(index: RecordIndex) -> bool:
    """Whether names are as in a backup; any file may begin with a number that looks like the length of one."""
    known = (BACKED_UP_DATABASE, ENCRYPTED)
    return any(name in known for name in index.records) or all("." in name for name in index.records)


def _path_of_record(name: str) -> str | None:
    """Where RisuAI would put a record; None for a name that leads elsewhere."""
    cold = _COLD_RECORD.fullmatch(name)
    if cold:
        return f"{COLD}{cold[1]}"
    path = name.replace("\\", "/")
    if not _is_safe(path):
        return None
    return path if "/" in path or path.startswith("inlay") else f"{ASSETS}{path}"


def _is_safe(path: str) -> bool:
    parts = path.split("/")
    return not any(part in ("", ".", "..") for part in parts) and path.isprintable() and ":" not in parts[0]


def _open_node(place: Path) -> Store | None:
    """Files whose names are those of RisuAI in hexadecimal digits; names that are not are those of its server."""
    wanted = DATABASE.encode().hex()
    folder = next((one for one in (place, place / "save") if (one / wanted).is_file()), None)
    if folder is None:
        return None
    files: dict[str, StoredFile] = {}
    secret: dict[str, int] = {}
    refused: dict[str, str] = {}
    for entry in _entries(folder, refused):
        is_hex = _HEX.fullmatch(entry.name) is not None
        name = bytes.fromhex(entry.name).decode("utf-8", "replace") if is_hex else entry.name
        if name.startswith("__"):
            secret[entry.name] = entry.stat().st_size
        elif not is_hex or not _is_safe(name):
            refused[entry.name] = "RisuAI has no files of such a name, so it was not read."
        else:
            files[_without_ending(name)] = _on_disk(Path(entry.path))
    return _with_database(files, secret, refused)


def _open_desktop(place: Path) -> Store | None:
    if not (place / DATABASE).is_file():
        return None
    files: dict[str, StoredFile] = {}
    refused: dict[str, str] = {}
    for folder in ("database", "assets", "coldstorage", "remotes", "remotes/remotes"):
        for entry in _entries(place / folder, refused):
            # RisuAI itself writes these into a folder inside the folder.
            files[_without_ending(f"{folder.partition('/')[0]}/{entry.name}")] = _on_disk(Path(entry.path))
    return _with_database(files, {}, refused)


def _with_database(files: dict[str, StoredFile], secret: dict[str, int], refused: dict[str, str]) -> Store:
    database = files.pop(DATABASE)
    for name in [name for name in files if name.startswith("database/")]:
        del files[name]
        refused[name] = "An older copy of the database. To import it, choose this file itself."
    return Store(files=files, database=database, secret=secret, refused=refused)


def _without_ending(name: str) -> str:
    return name.removesuffix(".json") if name.startswith(COLD) else name


def _entries(folder: Path, refused: dict[str, str]) -> Iterator[os.DirEntry[str]]:
    """The files of a folder in the order of their names; links are refused."""
    if not folder.is_dir() or folder.is_symlink():
        return
    with os.scandir(folder) as found:
        entries = sorted((entry for entry in found), key=lambda entry: entry.name)
    if len(entries) > MAX_FILES:
        raise ParseError(f"The folder has more than {MAX_FILES:,} files.")
    for entry in entries:
        if entry.is_symlink():
            refused[f"{folder.name}/{entry.name}"] = "This is a link, and links are not followed."
        elif entry.is_file():
            yield entry


def _on_disk(path: Path) -> StoredFile:
    return StoredFile(path=path, size=path.stat().st_size, modified=_modified(path))


def _modified(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
