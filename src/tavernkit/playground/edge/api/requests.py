"""What the routes of the API share: who asks, and pages of long lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import Depends, Path, Query, Request
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import cursor
from tavernkit.playground.edge.web.authentication import viewer_of
from tavernkit.playground.edge.web.bodies import before_body
from tavernkit.playground.edge.web.requests import Caller

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


class ErrorBody(BaseModel):
    """Why nothing was done."""

    code: str = Field(description="For programs.")
    sentence: str = Field(description="For people: what was wrong and what to do.")
    current: Any = Field(default=None, description="How things are now, where they were changed in the meantime.")


class ErrorResponse(BaseModel):
    error: ErrorBody


def documented(*codes: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says about the errors of a route, beside those that any route may give."""
    return {code: {"model": ErrorResponse} for code in (401, 403, 404, 422, *codes)}


@before_body
async def _caller(request: Request) -> Caller:
    return Caller(request.app.state.runtime, await viewer_of(request))


ApiCaller = Annotated[Caller, Depends(_caller)]
"""Who asks; a request of nobody is refused."""

ConversationId = Annotated[UUID, Path(description="The conversation.")]
Limit = Annotated[int, Query(ge=1, le=200, description="How many to give at most.")]
