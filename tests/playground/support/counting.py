"""Counting the statements that reach the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from tavernkit.playground.base.database import Database

__all__ = ["counted_statements"]


@contextmanager
def counted_statements(database: Database) -> Iterator[list[str]]:
    """Collects the statements that are sent while it is open."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.startswith("BEGIN"):
            sent.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)
