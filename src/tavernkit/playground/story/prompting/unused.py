"""Removing what no prompt that is kept refers to any longer.

Prompts name pieces and texts inside JSON, so what is used is found by reading all prompts. That is done only where
prompts have been removed since it was done last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar
from uuid import UUID

from sqlalchemy import Row, Text, delete, func, select, type_coerce
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.database.models import (
    InputDocument,
    PromptBlock,
    PromptInputRecord,
    PromptPiece,
    PromptSnapshot,
    SiteSetting,
)
from tavernkit.playground.base.pieces import linked
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.prompting.inputs_kept import HASH, hashes_in
from tavernkit.playground.story.prompting.records import LOCK, SWEPT

K = TypeVar("K", str, bytes)
_PromptRow: TypeAlias = "Row[UUID, datetime, bytes | None, str, str, bytes | None]"

PROMPTS_AT_ONCE = 100
BLOCKS_AT_ONCE = 500
LATE = timedelta(minutes=5)
"""How much older than its commit the time of a prompt may be."""

BEGINNING_BYTES = 8
"""So much of a hash is remembered; if two begin alike, one of them stays."""


async def remove_unused_blocks(runtime: Runtime, until: asyncio.Event) -> int:
    """Remove the texts and pieces that no prompt refers to; how many. Broken off anywhere, it is done again the next
    time."""
    sweep: dict[str, object] = {"sweep": str(runtime.ids()), "is_over": False}
    try:
        async with runtime.database.write() as session:
            last = await session.get(SiteSetting, SWEPT)
            if last is not None and last.value["is_over"]:
                return 0
            await session.merge(SiteSetting(key=SWEPT, value=sweep, updated_at=runtime.clock()))
    except IntegrityError:
        # Another worker has begun at the same moment.
        return 0
    used = _Used(since=runtime.clock() - LATE)
    await _read_all(runtime, used, until)
    removed = await _remove_all(runtime, PromptBlock.sha256, used.has_text, used, until)
    removed += await _remove_all(runtime, PromptPiece.key, used.has_piece, used, until)
    removed += await _remove_all(runtime, InputDocument.sha256, used.has_document, used, until)
    if not until.is_set():
        await _note_end(runtime, sweep)
    return removed


class _Used:
    """The texts and pieces that prompts refer to, as far as the prompts have been read.

    Of prompts that are not older than `since`, it is remembered which have been: others may be written meanwhile.
    """

    def __init__(self, *, since: datetime) -> None:
        self.since = since
        self._texts: set[bytes] = set()
        self._pieces: set[bytes] = set()
        self._documents: set[bytes] = set()
        self._read: set[tuple[UUID, datetime]] = set()

    async def read(self, session: AsyncSession, rows: Sequence[_PromptRow]) -> None:
        """Note what these prompts refer to."""
        self._read |= {(run_id, moment) for run_id, moment, *_ in rows if moment >= self.since}
        self._texts |= await asyncio.to_thread(
            _texts_in, [text for *_, blocks, request, _ in rows for text in (blocks, request)]
        )
        inputs = [content for *_, content in rows if content is not None]
        self._documents |= set(map(_beginning, await hashes_in(session, inputs)))
        new = {root for _, _, root, *_ in rows if root is not None} - self._pieces
        while new:
            self._pieces |= new
            named: set[bytes] = set()
            keys = sorted(new)
            for at in range(0, len(keys), BLOCKS_AT_ONCE):
                these = PromptPiece.key.in_(keys[at : at + BLOCKS_AT_ONCE])
                for links in await session.scalars(select(PromptPiece.links).where(these)):
                    named.update(linked(links))
            new = named - self._pieces

    def has_read(self, run_id: UUID, moment: datetime) -> bool:
        return (run_id, moment) in self._read

    def has_text(self, sha256: str) -> bool:
        return _beginning(sha256) in self._texts

    def has_document(self, sha256: str) -> bool:
        return _beginning(sha256) in self._documents

    def has_piece(self, key: bytes) -> bool:
        return key in self._pieces


async def _read_all(runtime: Runtime, used: _Used, until: asyncio.Event) -> None:
    after: UUID | None = None
    while not until.is_set():
        query = _PROMPTS.order_by(PromptSnapshot.run_id).limit(PROMPTS_AT_ONCE)
        async with runtime.database.read() as session:
            page = query if after is None else query.where(PromptSnapshot.run_id > after)
            rows = (await session.execute(page)).all()
            await used.read(session, rows)
        if not rows:
            break
        after = rows[-1][0]


async def _remove_all(
    runtime: Runtime,
    column: InstrumentedAttribute[K],
    is_used: Callable[[K], bool],
    used: _Used,
    until: asyncio.Event,
) -> int:
    """Remove the rows of a table that are not used."""
    removed, after = 0, None
    while not until.is_set():
        page = select(column).order_by(column).limit(BLOCKS_AT_ONCE)
        async with runtime.database.read() as session:
            keys = (await session.scalars(page if after is None else page.where(column > after))).all()
        if not keys:
            break
        after = keys[-1]
        if unused := [key for key in keys if not is_used(key)]:
            removed += await _remove(runtime, column, unused, is_used, used)
    return removed


async def _remove(
    runtime: Runtime,
    column: InstrumentedAttribute[K],
    unused: Sequence[K],
    is_used: Callable[[K], bool],
    used: _Used,
) -> int:
    """Remove rows, but for those that prompts refer to which were written since the prompts were read."""
    recent = select(PromptSnapshot.run_id, PromptSnapshot.created_at).where(PromptSnapshot.created_at >= used.since)
    async with runtime.database.write() as session:
        if runtime.database.is_postgresql:
            await session.execute(select(func.pg_advisory_xact_lock(LOCK)))
        new = [run_id for run_id, moment in await session.execute(recent) if not used.has_read(run_id, moment)]
        if new:
            await used.read(session, (await session.execute(_PROMPTS.where(PromptSnapshot.run_id.in_(new)))).all())
        gone = [key for key in unused if not is_used(key)]
        await session.execute(
            delete(column.class_).where(column.in_(gone)), execution_options={"synchronize_session": False}
        )
        return len(gone)


async def _note_end(runtime: Runtime, sweep: dict[str, object]) -> None:
    """Nothing is left to do, unless prompts were removed or another sweep was begun meanwhile."""
    async with runtime.database.write() as session:
        setting = await session.get(SiteSetting, SWEPT, with_for_update=True)
        if setting is not None and setting.value == sweep:
            setting.value, setting.updated_at = {**sweep, "is_over": True}, runtime.clock()


def _texts_in(stored: Iterable[str]) -> set[bytes]:
    return {_beginning(sha256) for text in stored for sha256 in HASH.findall(text)}


def _beginning(sha256: str) -> bytes:
    return bytes.fromhex(sha256[: 2 * BEGINNING_BYTES])


_PROMPTS = select(
    PromptSnapshot.run_id,
    PromptSnapshot.created_at,
    PromptSnapshot.root,
    type_coerce(PromptSnapshot.blocks, Text),
    type_coerce(PromptSnapshot.request, Text),
    PromptInputRecord.content,
).outerjoin(PromptInputRecord, PromptInputRecord.run_id == PromptSnapshot.run_id)
