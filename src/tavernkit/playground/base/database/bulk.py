"""Writing many rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Insert, bindparam, func, insert, inspect, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.fulltext.noting import note_rows


def copy_rows(model: type[DeclarativeBase], *where: ColumnElement[bool], **changed: Any) -> Insert:
    """Insert the rows that are found as they are, but for the columns that are named."""
    table = model.metadata.tables[model.__tablename__]
    columns = {column.name: changed.get(column.name, column) for column in table.columns}
    return insert(table).from_select(list(columns), select(*columns.values()).where(*where), include_defaults=False)


async def insert_rows(session: AsyncSession, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all name the same attributes of the model.

    PostgreSQL gets one list per column: its driver would otherwise spend most of the time on statements.
    """
    if not rows:
        return
    if session.get_bind().dialect.name != "postgresql":
        await session.execute(insert(model), [dict(row) for row in rows])
        return
    note_rows(session.sync_session, model, rows)
    columns = [inspect(model).columns[name] for name in rows[0]]
    lists = [
        func.unnest(bindparam(None, [row[name] for row in rows], type_=ARRAY(column.type), unique=True))
        for name, column in zip(rows[0], columns, strict=True)
    ]
    await session.execute(
        insert(model).from_select([column.name for column in columns], select(*lists), include_defaults=False)
    )
