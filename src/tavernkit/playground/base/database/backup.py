"""Backups: one file that holds every row of one moment, and that either kind of database can be made from.

The file is a ZIP archive: `tables/NAME.jsonl` has one JSON array per row, `manifest.json` says at which revision of the
schema, which columns, how many rows, and what the bytes of each table hash to. Nothing in it depends on the database it
came from: ids are hexadecimal, times are ISO 8601 in UTC, bytes are base64.

What is written meanwhile does no harm, because everything is read in one transaction that sees one moment. The file is
read back and compared with what was counted before it takes its place. Restoring is one transaction too: whatever goes
wrong, the database is as it was.
"""

from __future__ import annotations

import base64
import fcntl
import glob
import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TypeAlias
from uuid import UUID

import msgspec
from sqlalchemy import Connection, DateTime, Uuid, column, event, func, inspect, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.expression import TableClause
from sqlalchemy.types import LargeBinary, TypeEngine

from tavernkit.errors import UnsupportedVersionError
from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.errors import DatabaseError, StorageFullError
from tavernkit.playground.base.database.fulltext.rebuilding import request_rebuild
from tavernkit.playground.base.database.migrate import knows_revision, reachable, revision_of, upgrade_within
from tavernkit.playground.base.database.models import TABLES, SearchDocument
from tavernkit.values import Value

FORMAT = "tavernkit-backup"
VERSION = 1
MANIFEST = "manifest.json"
ROWS_AT_ONCE = 200
DERIVED = SearchDocument.__tablename__
"""A table that is made from others, and is not in the file: what is restored is indexed by the next worker."""
UNFINISHED = ".tavernkit-tmp"
UNREADABLE = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError)
"""What an archive raises that is damaged, encrypted, or packed in a way that nobody here packs."""

Progress: TypeAlias = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""Given the number of rows, opens something that is called for each of them."""


class BackupError(DatabaseError):
    """A backup that cannot be made, read or restored."""


class TablePart(Value, frozen=True, kw_only=True):
    """A table in the file."""

    columns: list[str]
    rows: int
    sha256: str


class Manifest(Value, frozen=True, kw_only=True):
    """What a file holds."""

    format: str
    version: int
    revision: str
    created_at: str
    tables: dict[str, TablePart]

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.tables.values())


def _unseen(_: int) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


async def back_up(url: str, target: Path, now: datetime, *, progress: Progress = _unseen) -> Manifest:
    """Write everything the database holds at this moment into a file, which appears when it is complete and checked."""
    engine = create_engine(url)
    try:
        with reachable():
            async with engine.connect() as connection:
                if engine.dialect.name == "postgresql":
                    await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                with _replacing(target) as file:
                    manifest = await connection.run_sync(_write, file, now, progress)
                    _verify(file, manifest)
                    return manifest
    finally:
        await engine.dispose()


async def restore(url: str, source: IO[bytes], *, force: bool = False, progress: Progress = _unseen) -> Manifest:
    """Fill an empty database from a file and bring it up to date; with `force`, in place of what is there."""
    archive, manifest = _open(source)
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _without_foreign_keys)
    try:
        with reachable():
            async with engine.execution_options(writes=True).begin() as connection:
                await connection.run_sync(_replace, archive, manifest, force, progress)
    except DBAPIError as error:
        if isinstance(error, StorageFullError):
            raise
        reason = " ".join(str(error.orig).split()).rstrip(".")
        raise BackupError(
            f"The database does not take what the backup holds: {reason}. Nothing was changed."
        ) from error
    finally:
        archive.close()
        await engine.dispose()
    return manifest


def _write(connection: Connection, file: IO[bytes], now: datetime, progress: Progress) -> Manifest:
    revision = revision_of(connection)
    if revision is None:
        raise BackupError("There is no database to back up yet. See TAVERNKIT_DATABASE_URL and TAVERNKIT_DATA_DIR.")
    tables = [each for each in _own_tables(connection) if each.name != DERIVED]
    if not tables:
        raise BackupError(
            "The database has no tables of TavernKit, so there is nothing to back up. Nothing was written."
        )
    counts = {each.name: connection.scalar(select(func.count()).select_from(each)) or 0 for each in tables}
    parts: dict[str, TablePart] = {}
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        progress(sum(counts.values())) as step,
    ):
        for each in tables:
            with archive.open(_member(each.name), "w", force_zip64=True) as part:
                parts[each.name] = _write_table(connection, each, part, step)
        manifest = Manifest(format=FORMAT, version=VERSION, revision=revision, created_at=_plain(now), tables=parts)
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    if {name: part.rows for name, part in parts.items()} != counts:
        raise BackupError("The backup does not have as many rows as the database. It was not kept; try again.")
    return manifest


def check_backup(file: IO[bytes]) -> Manifest:
    """Read a whole backup, every row of every table; raises where it is damaged, or of a newer version."""
    archive, manifest = _open(file)
    with archive:
        for name, part in manifest.tables.items():
            for _ in _lines(archive, name, part):
                pass
    return manifest


def _verify(file: IO[bytes], written: Manifest) -> None:
    file.seek(0)
    if check_backup(file) != written:
        raise BackupError("The backup reads back as something else. It was not kept; try again.")


def _write_table(connection: Connection, source: TableClause, part: IO[bytes], step: Callable[[], None]) -> TablePart:
    digest, count = hashlib.sha256(), 0
    rows = connection.execute(select(source), execution_options={"yield_per": ROWS_AT_ONCE})
    for row in rows:
        line = json.dumps([_plain(value) for value in row], separators=(",", ":")).encode() + b"\n"
        digest.update(line)
        part.write(line)
        count += 1
        step()
    return TablePart(columns=[each.name for each in source.columns], rows=count, sha256=digest.hexdigest())


def _replace(
    connection: Connection, archive: zipfile.ZipFile, manifest: Manifest, force: bool, progress: Progress
) -> None:
    present = _own_tables(connection)
    if not force and any(connection.execute(select(text("1")).select_from(each).limit(1)).first() for each in present):
        raise BackupError("The database is not empty. Say --force to put the backup in place of what is there.")
    for name in ["search_index", *(each.name for each in present), "alembic_version"]:
        cascade = " CASCADE" if connection.dialect.name == "postgresql" else ""
        connection.exec_driver_sql(f'DROP TABLE IF EXISTS "{name}"{cascade}')
    upgrade_within(connection, manifest.revision)
    targets = {each.name: each for each in _own_tables(connection) if each.name != DERIVED}
    if set(targets) != set(manifest.tables):
        raise BackupError("The backup does not have the tables that its revision says. It is damaged.")
    with _loose_foreign_keys(connection), progress(manifest.rows) as step:
        for name, part in manifest.tables.items():
            _load_table(connection, targets[name], part, archive, step)
    upgrade_within(connection, "head")
    request_rebuild(connection, datetime.fromisoformat(manifest.created_at))


def _load_table(
    connection: Connection, target: TableClause, part: TablePart, archive: zipfile.ZipFile, step: Callable[[], None]
) -> None:
    types = {each.name: each.type for each in target.columns}
    if set(types) != set(part.columns):
        raise BackupError(f"The table {target.name} of the backup has other columns than its revision says.")
    naive = connection.dialect.name == "sqlite"
    batch: list[dict[str, Any]] = []
    try:
        for line in _lines(archive, target.name, part):
            values = zip(part.columns, json.loads(line), strict=True)
            batch.append({name: _stored(value, types[name], naive=naive) for name, value in values})
            if len(batch) == ROWS_AT_ONCE:
                connection.execute(target.insert(), batch)
                batch = []
            step()
    except (ValueError, TypeError) as error:
        raise _damaged(target.name) from error
    if batch:
        connection.execute(target.insert(), batch)


def _lines(archive: zipfile.ZipFile, name: str, part: TablePart) -> Iterator[bytes]:
    """The rows of a table as they are in the file; raises at the end if they are not those of the manifest."""
    digest, count = hashlib.sha256(), 0
    try:
        with archive.open(_member(name)) as lines:
            for line in lines:
                digest.update(line)
                count += 1
                yield line
    except UNREADABLE as error:
        raise _damaged(name) from error
    if (count, digest.hexdigest()) != (part.rows, part.sha256):
        raise _damaged(name)


def _own_tables(connection: Connection) -> list[TableClause]:
    """The tables that are ours, as they are in this database, whatever its revision."""
    looking = inspect(connection)
    names = sorted(set(looking.get_table_names()) & set(TABLES))
    return [table(name, *(column(each["name"], each["type"]) for each in looking.get_columns(name))) for name in names]


@contextmanager
def _loose_foreign_keys(connection: Connection) -> Iterator[None]:
    """Rows refer to each other in circles, so no order of tables would do: what refers where is checked at the end."""
    if connection.dialect.name == "sqlite":
        yield
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        if broken:
            raise BackupError(f"In the backup, {len(broken)} rows lack what they refer to. It is damaged.")
        return
    keys = connection.execute(
        text(
            "SELECT quote_ident(t.relname), quote_ident(c.conname), pg_get_constraintdef(c.oid)"
            " FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid"
            " WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace AND t.relname = ANY(:names)"
        ),
        {"names": list(TABLES)},
    ).all()
    for place, name, _ in keys:
        connection.exec_driver_sql(f"ALTER TABLE {place} DROP CONSTRAINT {name}")
    yield
    for place, name, definition in keys:
        connection.exec_driver_sql(f"ALTER TABLE {place} ADD CONSTRAINT {name} {definition}")


def _without_foreign_keys(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    cursor.close()


def _plain(value: Any) -> Any:
    """A value as both databases would write it."""
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return value


def _stored(value: Any, kind: TypeEngine[Any], *, naive: bool) -> Any:
    """A value as this database wants it."""
    if value is None:
        return None
    if isinstance(kind, Uuid):
        return UUID(value)
    if isinstance(kind, DateTime):
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=None) if naive else moment
    if isinstance(kind, LargeBinary):
        return base64.b64decode(value, validate=True)
    return value


def _open(source: IO[bytes]) -> tuple[zipfile.ZipFile, Manifest]:
    try:
        archive = zipfile.ZipFile(source)
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
    except (*UNREADABLE, msgspec.DecodeError) as error:
        raise BackupError("This is not a backup of TavernKit, or it is damaged.") from error
    if manifest.format != FORMAT:
        raise BackupError("This is not a backup of TavernKit.")
    if manifest.version != VERSION or not knows_revision(manifest.revision):
        raise UnsupportedVersionError(
            "The backup was made by a newer version of TavernKit. Install that version to restore it."
        )
    return archive, manifest


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """A file that takes its place when it is complete; nobody but its owner can read it, for it holds everything."""
    place = target.resolve()
    try:
        if place.exists() and not place.is_file():
            raise BackupError("This is a folder or a device. Name a file, or - for standard output.")
        if not place.parent.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place)
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-", suffix=UNFINISHED)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, place)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise BackupError(
            f"The backup cannot be written: {error.strerror or error}. A file that was there before is unchanged."
        ) from error


def _remove_abandoned(place: Path) -> None:
    """Remove what killed backups into the same file left behind; a file that is still being written is locked."""
    for path in place.parent.glob(f".{glob.escape(place.name)}-*{UNFINISHED}"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _member(name: str) -> str:
    return f"tables/{name}.jsonl"


def _damaged(name: str) -> BackupError:
    return BackupError(f"The table {name} of the backup is damaged. Nothing was changed.")
