"""Cursors of lists that are ordered by a time, the newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from tavernkit.playground.api.errors import RefusedError, unless_refused
from tavernkit.playground.api.paging import FOREIGN, place_behind

__all__ = ["behind_moment", "moment"]


def moment(time: datetime) -> str:
    """A time as cursors hold it."""
    return time.astimezone(UTC).isoformat()


def behind_moment(after: str | None) -> tuple[datetime, UUID] | None:
    """The time and the id that a cursor names."""
    if after is None:
        return None
    time, id = unless_refused(place_behind(after, str, str))
    try:
        found = datetime.fromisoformat(str(time)), UUID(str(id))
    except ValueError:
        raise RefusedError(FOREIGN) from None
    if found[0].tzinfo is None:
        raise RefusedError(FOREIGN)
    return found
