"""The bytes of imported files, by their hash: kept in pieces, written back by an export.

Pieces count only once an imported file refers to them. Whoever keeps bytes that nothing refers to writes all of them
anew, whatever somebody has left who was killed.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import ImportedFile, KeptFile, KeptPiece
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.values import Value

PIECE_BYTES = 1024 * 1024
LEVEL = 1
SAVED = 0.95
"""A piece is kept compressed where that takes less than this share of its bytes."""


class KeptBytes(Value, frozen=True, kw_only=True):
    """Bytes that are ready to be kept: their hash and their pieces, each with whether it is compressed."""

    sha256: str
    size: int
    pieces: tuple[tuple[bool, bytes], ...]

    @classmethod
    def of(cls, data: bytes, *, sha256: str | None = None) -> KeptBytes:
        """Takes a while, so not to be called in the event loop."""
        view = memoryview(data)
        pieces = tuple(pack(view[start : start + PIECE_BYTES]) for start in range(0, len(data), PIECE_BYTES))
        return cls(sha256=sha256 or hashlib.sha256(data).hexdigest(), size=len(data), pieces=pieces)


def pack(piece: bytes | memoryview) -> tuple[bool, bytes]:
    """A piece as it is stored."""
    compressed = zlib.compress(piece, LEVEL)
    if len(compressed) < SAVED * len(piece):
        return True, compressed
    return False, bytes(piece)


def read_pieces(file: IO[bytes], limit: int | None = None) -> Iterator[bytes]:
    """The bytes of a file, piece by piece; not more than a limit, if there is one."""
    left = limit
    while piece := file.read(PIECE_BYTES if left is None else min(PIECE_BYTES, left)):
        yield piece
        left = None if left is None else left - len(piece)


async def keep(session: AsyncSession, kept: KeptBytes, now: datetime, *, is_known: bool) -> None:
    """Keep bytes inside a transaction in which something refers to them. `is_known` says that an imported file does so
    already."""
    await hold(session, kept.sha256, kept.size, now)
    if not is_known:
        await write_pieces(session, kept.sha256, enumerate(kept.pieces))


async def hold(session: AsyncSession, sha256: str, size: int, now: datetime) -> None:
    """Let nobody sweep the bytes of this hash before this transaction ends, nor for a while after it."""
    row = _insert(session)(KeptFile).values(sha256=sha256, size=size, created_at=now)
    renewed = {"created_at": row.excluded.created_at}
    await session.execute(row.on_conflict_do_update(index_elements=[KeptFile.sha256], set_=renewed))


async def write_pieces(session: AsyncSession, sha256: str, pieces: Iterable[tuple[int, tuple[bool, bytes]]]) -> None:
    """Write pieces with their numbers; those that are there are replaced."""
    rows = [
        {"sha256": sha256, "position": position, "compressed": compressed, "data": data}
        for position, (compressed, data) in pieces
    ]
    if rows:
        row = _insert(session)(KeptPiece)
        changed = {"compressed": row.excluded.compressed, "data": row.excluded.data}
        written = row.on_conflict_do_update(index_elements=[KeptPiece.sha256, KeptPiece.position], set_=changed)
        await session.execute(written, rows)


async def forget(session: AsyncSession, sha256: str) -> None:
    """Remove bytes that turned out not to have this hash, unless something refers to it."""
    if not await is_kept(session, sha256):
        await session.execute(delete(KeptFile).where(KeptFile.sha256 == sha256))


async def is_kept(session: AsyncSession, sha256: str) -> bool:
    """Whether an imported file refers to these bytes."""
    return sha256 in await kept_among(session, [sha256])


async def kept_among(session: AsyncSession, names: Sequence[str]) -> set[str]:
    """Those of these hashes whose bytes an imported file refers to."""
    query = select(ImportedFile.kept_sha256).where(ImportedFile.kept_sha256.in_(names)).distinct()
    return {name for name in await session.scalars(query) if name is not None}


async def kept_bytes(session: AsyncSession, sha256: str) -> bytes:
    """The bytes of this hash as a whole."""
    return b"".join([piece async for piece in kept_pieces(session, sha256)])


async def kept_pieces(session: AsyncSession, sha256: str) -> AsyncIterator[bytes]:
    """The bytes of this hash, piece by piece."""
    size = (await session.scalars(select(KeptFile.size).where(KeptFile.sha256 == sha256))).one()
    for position in range(-(-size // PIECE_BYTES)):
        place = (KeptPiece.sha256 == sha256, KeptPiece.position == position)
        row = (await session.execute(select(KeptPiece.compressed, KeptPiece.data).where(*place))).one()
        yield zlib.decompress(row.data) if row.compressed else row.data


def _insert(session: AsyncSession) -> Any:
    return postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert


class Keeping:
    """Imports what has no use here: its bytes are all there is to keep. `notes` say why."""

    def __init__(self, *notes: str) -> None:
        self._notes = notes

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> None:
        """Nothing is read out of it."""

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: None) -> ItemOutcome:
        """Nothing is written but its bytes, as with every file."""
        return ItemOutcome(verdict="kept", notes=self._notes)


KEEPING = Keeping()
HANDLERS: Mapping[FileKind, ItemHandler] = {"kept": KEEPING, "derived": KEEPING}
