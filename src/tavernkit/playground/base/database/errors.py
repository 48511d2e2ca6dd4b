"""What can be wrong with a database, as sentences."""

from __future__ import annotations

import errno
import sqlite3
from typing import ClassVar

import psycopg
from psycopg.errors import DiskFull
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.languages import gettext as _

# What SQLite says when a file cannot grow. A limit on the size of files or a quota is an I/O error to it.
_WITHOUT_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_PRIMARY_CODE = 0xFF


class DatabaseError(TavernKitError):
    """A database that cannot be used as it was named."""


class _TemporaryError(DatabaseError, OperationalError):
    """Nothing was changed. Also one of SQLAlchemy's errors, so that who is ready for a database in trouble is ready for
    this."""

    sentence: ClassVar[str]

    def __init__(self, original: BaseException) -> None:
        OperationalError.__init__(self, None, None, original)

    def __str__(self) -> str:
        return self.sentence


class StorageFullError(_TemporaryError):
    """There is no room for what should be written; nothing of it was."""

    sentence = _("The disk is full, so nothing was saved. Earlier data is safe. Free some space and try again.")


class DatabaseBusyError(_TemporaryError):
    """The database did not answer in time, or cannot be reached at the moment."""

    retry_after_seconds = 5
    sentence = _("The database is busy or cannot be reached, so nothing was saved. Try again in a few seconds.")


def name_errors(engine: AsyncEngine) -> AsyncEngine:
    """Let a full disk and a busy database be errors of their own, whichever statement finds out."""

    @event.listens_for(engine.sync_engine, "handle_error")
    def handle(context: ExceptionContext) -> BaseException | None:
        original = context.original_exception
        if not isinstance(original, Exception):
            # Somebody was cancelled. SQLAlchemy gives the connection up for it, but nothing is wrong with the database.
            return None
        if _is_full(original):
            return StorageFullError(original)
        return DatabaseBusyError(original) if context.is_disconnect or _is_busy(original) else None

    return engine


def is_without_room(error: OSError) -> bool:
    """Whether a file could not be written because the disk, a quota or the limit on the size of files is reached."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _is_full(error: BaseException) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode in _WITHOUT_ROOM
    return isinstance(error, DiskFull)


def _is_busy(error: BaseException) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode & _PRIMARY_CODE in _LOCKED
    # All of these are about the server: no connection, no resources, a lock or an answer that took too long.
    return isinstance(error, psycopg.OperationalError)
