"""Copying rows inside the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Insert, insert, select
from sqlalchemy.orm import DeclarativeBase


def copy_rows(model: type[DeclarativeBase], *where: ColumnElement[bool], **changed: Any) -> Insert:
    """Insert the rows that are found as they are, but for the columns that are named."""
    table = model.metadata.tables[model.__tablename__]
    columns = {column.name: changed.get(column.name, column) for column in table.columns}
    return insert(table).from_select(list(columns), select(*columns.values()).where(*where), include_defaults=False)
