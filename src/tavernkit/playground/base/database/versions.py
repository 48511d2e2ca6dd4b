"""Optimistic locking: a change names the version it was made from, and a later one is never overwritten."""

from __future__ import annotations

from typing import Protocol

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
