"""Indexing everything anew, and merging the pieces of the index: step by step, each in a transaction of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.base import Row
from tavernkit.playground.base.database.fulltext.documents import NOUNS
from tavernkit.playground.base.database.fulltext.index import AT_ONCE, index_nouns, index_texts
from tavernkit.playground.base.database.models import SearchDocument, SiteSetting, TextContent

if TYPE_CHECKING:
    from tavernkit.playground.base.database.engine import Database

REBUILD = "search_rebuild"
"""The setting that says how far indexing is; it is there until everything is indexed."""

_MERGED_PAGES = 64
_MERGE = text("INSERT INTO search_index (search_index, rank) VALUES ('merge', :pages)")

_MODELS: Sequence[type[Row]] = (*NOUNS, TextContent)
_START = {"model": 0, "after": UUID(int=0).hex}


def request_rebuild(connection: Connection, now: datetime) -> None:
    """Have everything indexed, from the beginning."""
    connection.execute(delete(SiteSetting).where(SiteSetting.key == REBUILD))
    connection.execute(insert(SiteSetting).values(key=REBUILD, value=_START, updated_at=now))


async def start_rebuild(database: Database, now: datetime) -> tuple[int, int]:
    """Begin to index everything, or go on where somebody was interrupted; how much there is, and how much is done."""
    async with database.write() as session:
        state = await session.get(SiteSetting, REBUILD)
        if state is None:
            state = SiteSetting(key=REBUILD, value=_START, updated_at=now)
            session.add(state)
        counts = [await session.scalar(select(func.count()).select_from(model)) or 0 for model in _MODELS]
        model, after = state.value["model"], UUID(state.value["after"])
        begun = select(func.count()).select_from(_MODELS[model]).where(_MODELS[model].id <= after)
        return sum(counts), sum(counts[:model]) + (await session.scalar(begun) or 0)


async def rebuild(database: Database, clock: Callable[[], datetime]) -> AsyncIterator[int]:
    """Index what is not indexed yet, if a rebuild was begun; after each step, how many rows it has dealt with."""
    while True:
        async with database.write() as session:
            # Where several work at it, each takes a step in turn.
            query = select(SiteSetting).where(SiteSetting.key == REBUILD).with_for_update()
            state: SiteSetting | None = await session.scalar(query)
            if state is None:
                return
            done = await _step(session, state)
            state.updated_at = clock()
        yield done


async def merge_pieces(database: Database, until: asyncio.Event) -> None:
    """Of SQLite: make one piece of those that the index is in, since words of what was deleted stand in them until
    then."""
    if database.is_postgresql:
        return
    pages = -_MERGED_PAGES  # of all pieces; what is begun is continued by positive numbers
    while not until.is_set():
        async with database.write() as session:
            before = await _changes(session)
            await session.execute(_MERGE, {"pages": pages})
            # The request itself is one.
            if await _changes(session) - before < 2:
                return
        pages = _MERGED_PAGES


async def _changes(session: AsyncSession) -> int:
    return int(await session.scalar(text("SELECT total_changes()")) or 0)


async def _step(session: AsyncSession, state: SiteSetting) -> int:
    number, after = state.value["model"], UUID(state.value["after"])
    model: Any = _MODELS[number]
    columns = (model.id, model.content) if model is TextContent else (model.id,)
    rows = (await session.execute(select(*columns).where(model.id > after).order_by(model.id).limit(AT_ONCE))).all()
    ids = [row[0] for row in rows]
    if model is TextContent:
        gone = delete(SearchDocument).where(SearchDocument.text_id.in_(ids))
        await session.execute(gone, execution_options={"synchronize_session": False})
        await index_texts(session, dict(map(tuple, rows)))
    else:
        await index_nouns(session, NOUNS[model], ids)
    if len(rows) == AT_ONCE:
        state.value = {"model": number, "after": ids[-1].hex}
    elif number + 1 < len(_MODELS):
        state.value = {**_START, "model": number + 1}
    else:
        await session.delete(state)
    return len(rows)
