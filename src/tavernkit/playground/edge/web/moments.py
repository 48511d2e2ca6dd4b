"""Times in the cursors of lists that are ordered by one; `paging.behind_time` reads them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(time: datetime) -> str:
    """A time as cursors hold it."""
    return time.astimezone(UTC).isoformat()
