"""What can be wrong with a database, as sentences."""

from __future__ import annotations

import sqlite3

from psycopg.errors import DiskFull
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine

from tavernkit.errors import TavernKitError

__all__ = ["DatabaseError", "StorageFullError", "tell_when_full"]


class DatabaseError(TavernKitError):
    """A database that cannot be used as it was named."""


class StorageFullError(DatabaseError, OperationalError):
    """There is no room for what should be written; nothing of it was. Also one of SQLAlchemy's errors, so that who is
    ready for a database in trouble is ready for this."""

    def __init__(self, original: BaseException) -> None:
        OperationalError.__init__(self, None, None, original)

    def __str__(self) -> str:
        return "The disk is full, so nothing was saved. What was there before is safe. Make room, and try again."


def tell_when_full(engine: AsyncEngine) -> AsyncEngine:
    """Let a full disk be an error of its own, whichever statement finds out."""

    @event.listens_for(engine.sync_engine, "handle_error")
    def handle(context: ExceptionContext) -> BaseException | None:
        original = context.original_exception
        return StorageFullError(original) if _is_full(original) else None

    return engine


def _is_full(error: BaseException) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode == sqlite3.SQLITE_FULL
    return isinstance(error, DiskFull)
