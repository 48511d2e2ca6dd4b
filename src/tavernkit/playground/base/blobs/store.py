"""Bytes into the database, and out of it when nobody refers to them, inside a transaction that somebody else owns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.blobs.media_types import media_type_of
from tavernkit.playground.base.database.models import TABLES, Blob
from tavernkit.values import Value

MAX_BLOB_BYTES = 32 * 1024 * 1024


class NewBlob(Value, frozen=True, kw_only=True):
    """Bytes with their name and kind, worked out before the transaction begins."""

    sha256: str
    media_type: str
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> NewBlob:
        return cls(sha256=hashlib.sha256(data).hexdigest(), media_type=media_type_of(data), data=data)


async def store(session: AsyncSession, blobs: Iterable[NewBlob], now: datetime) -> None:
    """Make sure that these bytes are there, and stay there until this transaction ends."""
    insert: Any = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    # Always in the same order: two that store the same bytes wait for each other, never both.
    for blob in sorted({blob.sha256: blob for blob in blobs}.values(), key=lambda blob: blob.sha256):
        row = insert(Blob).values(
            sha256=blob.sha256, media_type=blob.media_type, size=len(blob.data), data=blob.data, created_at=now
        )
        # An update that changes nothing locks the row against who would remove it as unused.
        await session.execute(row.on_conflict_do_update(index_elements=[Blob.sha256], set_={"size": row.excluded.size}))


async def missing(session: AsyncSession, names: Iterable[str]) -> list[str]:
    """Those of these blobs that are not there, in the order in which they are to be stored; the others stay there until
    this transaction ends."""
    wanted = sorted(set(names))
    if not wanted:
        return []
    query = select(Blob.sha256).where(Blob.sha256.in_(wanted)).order_by(Blob.sha256)
    there = set(await session.scalars(query.with_for_update(read=True, key_share=True)))
    return [name for name in wanted if name not in there]


async def remove_unused(session: AsyncSession, names: Iterable[str | None]) -> int:
    """Remove those of these blobs that nothing refers to any more, and say how many; what somebody else is just using
    stays."""
    await session.flush()
    wanted = sorted({name for name in names if name is not None})
    locked = await session.scalars(select(Blob.sha256).where(Blob.sha256.in_(wanted)).with_for_update(skip_locked=True))
    gone = await session.scalars(
        delete(Blob).where(Blob.sha256.in_(locked.all()), *is_unused()).returning(Blob.sha256),
        execution_options={"synchronize_session": False},
    )
    return len(gone.all())


def is_unused() -> list[ColumnElement[bool]]:
    """True of blobs that no column of any table refers to."""
    return [
        ~exists().where(column == Blob.sha256)
        for table in TABLES.values()
        for column in table.columns
        if any(key.column is Blob.__table__.c.sha256 for key in column.foreign_keys)
    ]
