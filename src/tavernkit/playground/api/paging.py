"""Pages of long lists: a cursor says behind which row the next one begins."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from tavernkit.playground.outcome import Refused
from tavernkit.playground.storable import storable

__all__ = ["After", "Page", "behind_name", "behind_number", "behind_time", "cursor", "page", "place_behind"]

T = TypeVar("T")
R = TypeVar("R")


After = Annotated[str | None, Query(max_length=2000, description="The `next` of the page before.")]
"""Where a page begins."""


class Page(BaseModel, Generic[T]):
    """A part of a list."""

    items: list[T]
    next: str | None = Field(default=None, description="Ask with it as `after` for the next page; null at the end.")


def page(
    rows: Sequence[R], limit: int, present: Callable[[R], T], place: Callable[[R], tuple[str | int, ...]]
) -> Page[T]:
    """A page out of one row more than it shows, if there are so many; `place` is what the rows are ordered by."""
    shown = rows[:limit]
    more = cursor(*place(shown[-1])) if len(rows) > limit else None
    return Page(items=[present(row) for row in shown], next=more)


def cursor(*place: str | int) -> str:
    """The place of a row in a list, as a text that only we read."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def place_behind(after: str, *kinds: type[str] | type[int]) -> list[str | int]:
    """The place that a cursor of a list ordered by values of these kinds names."""
    try:
        place = json.loads(base64.urlsafe_b64decode(after.encode()))
    except (binascii.Error, ValueError, RecursionError):
        raise foreign_cursor() from None
    if not isinstance(place, list) or [type(part) for part in place] != list(kinds):
        raise foreign_cursor()
    if not all(abs(part) < 2**63 if isinstance(part, int) else part == storable(part) for part in place):
        raise foreign_cursor()
    return place


def behind_name(after: str | None) -> tuple[str, UUID] | None:
    """The name and the id that a cursor names, in a list ordered by them."""
    if after is None:
        return None
    name, id = map(str, place_behind(after, str, str))
    try:
        return name, UUID(id)
    except ValueError:
        raise foreign_cursor() from None


def behind_number(after: str | None) -> int | None:
    """The number that a cursor names, in a list ordered by it."""
    return None if after is None else int(place_behind(after, int)[0])


def behind_time(after: str | None) -> tuple[datetime, UUID] | None:
    """The time and the id that a cursor names, in a list ordered by them."""
    named = behind_name(after)
    if named is None:
        return None
    try:
        time = datetime.fromisoformat(named[0])
    except ValueError:
        raise foreign_cursor() from None
    if time.tzinfo is None:
        raise foreign_cursor()
    return time, named[1]


def foreign_cursor() -> Refused:
    return Refused(code="invalid", sentence="The cursor is none of this list. Begin again without `after`.")
