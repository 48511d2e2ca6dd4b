"""What all tables share: names of constraints, ids, and times that know their zone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import DateTime, MetaData, Text, TypeDecorator, Uuid
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase

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
