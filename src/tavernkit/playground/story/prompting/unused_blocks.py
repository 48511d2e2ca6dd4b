"""Removing the blocks that stand in no prompt any more.

Prompts name their blocks inside JSON, so what is used is found by reading all prompts. That is done only where prompts
have been removed since it was done last.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Row, Text, delete, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import PromptBlock, PromptSnapshot, SiteSetting
from tavernkit.playground.base.runtime import Runtime

SWEPT = "prompt_blocks_swept"
"""The setting that is there while no block can be unused; its value is the sweep that found out."""

LOCK = 0x74617665726E01
"""Of PostgreSQL: shared by who writes a prompt, exclusive for who removes blocks. SQLite has one writer anyway."""

PROMPTS_AT_ONCE = 100
BLOCKS_AT_ONCE = 500
LATE = timedelta(minutes=5)
"""How much older than its commit the time of a prompt may be."""

HASH = re.compile(r'"([0-9a-f]{64})"')
BEGINNING_BYTES = 8
"""So much of a hash is remembered; if two begin alike, one of them stays."""


async def while_blocks_stay(session: AsyncSession) -> None:
    """Let nobody remove blocks until this transaction ends: what it finds is there when its prompt is committed."""
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(select(func.pg_advisory_xact_lock_shared(LOCK)))


async def note_removed_prompts(session: AsyncSession) -> None:
    """Have the blocks looked through, once this transaction is committed."""
    await session.execute(
        delete(SiteSetting).where(SiteSetting.key == SWEPT), execution_options={"synchronize_session": False}
    )


async def remove_unused_blocks(runtime: Runtime, until: asyncio.Event) -> int:
    """Remove the blocks that no prompt refers to; how many. Broken off anywhere, it is done again the next time."""
    sweep: dict[str, object] = {"sweep": str(runtime.ids()), "is_over": False}
    async with runtime.database.write() as session:
        last = await session.get(SiteSetting, SWEPT)
        if last is not None and last.value["is_over"]:
            return 0
        await session.merge(SiteSetting(key=SWEPT, value=sweep, updated_at=runtime.clock()))
    used = _UsedBlocks(since=runtime.clock() - LATE)
    await _read_all(runtime, used, until)
    removed, after = 0, ""
    while not until.is_set():
        page = select(PromptBlock.sha256).where(PromptBlock.sha256 > after).order_by(PromptBlock.sha256)
        async with runtime.database.read() as session:
            hashes = (await session.scalars(page.limit(BLOCKS_AT_ONCE))).all()
        if not hashes:
            await _note_end(runtime, sweep)
            break
        after = hashes[-1]
        if unused := used.others(hashes):
            removed += await _remove(runtime, unused, used)
    return removed


class _UsedBlocks:
    """The blocks that prompts refer to, as far as the prompts have been read.

    Of prompts that are not older than `since`, it is remembered which have been: others may be written meanwhile.
    """

    def __init__(self, *, since: datetime) -> None:
        self.since = since
        self._beginnings: set[bytes] = set()
        self._read: set[tuple[UUID, datetime]] = set()

    def read(self, rows: Sequence[Row[UUID, datetime, str, str]]) -> None:
        self._read |= {(run_id, moment) for run_id, moment, _, _ in rows if moment >= self.since}
        self._beginnings |= {
            _beginning(sha256) for _, _, *texts in rows for text in texts for sha256 in HASH.findall(text)
        }

    def has_read(self, run_id: UUID, moment: datetime) -> bool:
        return (run_id, moment) in self._read

    def others(self, hashes: Iterable[str]) -> list[str]:
        return [sha256 for sha256 in hashes if _beginning(sha256) not in self._beginnings]


async def _read_all(runtime: Runtime, used: _UsedBlocks, until: asyncio.Event) -> None:
    after: UUID | None = None
    while not until.is_set():
        query = _PROMPTS.order_by(PromptSnapshot.run_id).limit(PROMPTS_AT_ONCE)
        async with runtime.database.read() as session:
            page = query if after is None else query.where(PromptSnapshot.run_id > after)
            rows = (await session.execute(page)).all()
        if not rows:
            break
        after = rows[-1][0]
        await asyncio.to_thread(used.read, rows)


async def _remove(runtime: Runtime, unused: Sequence[str], used: _UsedBlocks) -> int:
    """Remove blocks, but for those that prompts refer to which were written since the prompts were read."""
    recent = select(PromptSnapshot.run_id, PromptSnapshot.created_at).where(PromptSnapshot.created_at >= used.since)
    async with runtime.database.write() as session:
        if runtime.database.is_postgresql:
            await session.execute(select(func.pg_advisory_xact_lock(LOCK)))
        new = [run_id for run_id, moment in await session.execute(recent) if not used.has_read(run_id, moment)]
        if new:
            used.read((await session.execute(_PROMPTS.where(PromptSnapshot.run_id.in_(new)))).all())
        gone = used.others(unused)
        await session.execute(
            delete(PromptBlock).where(PromptBlock.sha256.in_(gone)), execution_options={"synchronize_session": False}
        )
        return len(gone)


async def _note_end(runtime: Runtime, sweep: dict[str, object]) -> None:
    """Nothing is left to do, unless prompts were removed or another sweep was begun meanwhile."""
    async with runtime.database.write() as session:
        setting = await session.get(SiteSetting, SWEPT, with_for_update=True)
        if setting is not None and setting.value == sweep:
            setting.value, setting.updated_at = {**sweep, "is_over": True}, runtime.clock()


def _beginning(sha256: str) -> bytes:
    return bytes.fromhex(sha256[: 2 * BEGINNING_BYTES])


_PROMPTS = select(
    PromptSnapshot.run_id,
    PromptSnapshot.created_at,
    type_coerce(PromptSnapshot.blocks, Text),
    type_coerce(PromptSnapshot.request, Text),
)
