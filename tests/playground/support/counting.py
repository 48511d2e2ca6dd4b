"""Counting the statements that reach the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy import event

from tavernkit.playground.base.database import Database

__all__ = ["counted_statements"]


_counting: ContextVar[list[str] | None] = ContextVar("_counting", default=None)


@contextmanager
def counted_statements(database: Database, *, of_all: bool = False) -> Iterator[list[str]]:
    """Collects the statements that are sent inside the block, and by tasks begun there; those of others who are at
    work meanwhile only if it is asked for."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if (of_all or _counting.get() is sent) and not statement.startswith("BEGIN"):
            sent.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    within = _counting.set(sent)
    try:
        yield sent
    finally:
        _counting.reset(within)
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)
