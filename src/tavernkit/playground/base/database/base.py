"""What all tables share: names of constraints, ids, and times that know their zone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, MetaData, Text, TypeDecorator, Uuid, text
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from tavernkit.playground.base.refused import stale
from tavernkit.values import Json


class Versioned(Protocol):
    """A row that counts its changes."""

    settings_version: int


def advance(row: Versioned, expected: int | None, *, what: str, current: Json) -> None:
    """Count one more change, or refuse one that was made from an older version; None is from whatever there is.

    The row must have been read in the transaction that writes it, under its lock.
    """
    if expected is not None and row.settings_version != expected:
        raise stale(what, current)
    row.settings_version += 1


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time. SQLite forgets the zone, so it is always UTC there and back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonText(TypeDecorator[Any]):
    """A JSON value as ASCII text, so that everything a card can hold survives: PostgreSQL's own types refuse NUL and
    lone surrogates."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class Base(DeclarativeBase):
    """The root of all models."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {
        UUID: Uuid(),
        datetime: UtcDateTime(),
        dict[str, Any]: JsonText(),
        list[str]: JsonText(),
    }


class Row(Base):
    """A row with an id of its own."""

    __abstract__ = True

    id: Mapped[UUID] = mapped_column(primary_key=True)


class DatedRow(Row):
    __abstract__ = True

    created_at: Mapped[datetime]


class EditedRow(DatedRow):
    __abstract__ = True

    updated_at: Mapped[datetime]


def one_of(column: str, *values: str) -> CheckConstraint:
    """Let a column have these values alone; the constraint is named after it."""
    return CheckConstraint(f"{column} IN ({', '.join(map(repr, values))})", name=column.strip('"'))


def one_place(*columns: str) -> CheckConstraint:
    """Let exactly one of the columns have a value."""
    filled = " + ".join(f"(CASE WHEN {column} IS NULL THEN 0 ELSE 1 END)" for column in columns)
    return CheckConstraint(f"{filled} = 1", name="one_place")


def only(condition: str) -> dict[str, Any]:
    """The options of an index over the rows that a condition is true of."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
