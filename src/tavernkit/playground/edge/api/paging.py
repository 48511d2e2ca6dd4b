"""Pages of long lists: a cursor says behind which row the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import cursor

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
