"""What a page says after something was moved to the trash: that it was, and how to undo it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import get_args
from uuid import UUID

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.retention import read_retention
from tavernkit.playground.story.trash.queries import TrashKind

PARAMETER = "trashed"
_shown: ContextVar[str] = ContextVar("trashed", default="")


async def back_from_deleting(runtime: Runtime, kind: TrashKind, id: UUID, address: str) -> Response:
    """The way to the page where somebody goes on who has deleted something; it offers to undo that, if one can."""
    async with runtime.database.read() as session:
        has_period = (await read_retention(session)).trash_days > 0
    return RedirectResponse(f"{address}?{PARAMETER}={kind}/{id}" if has_period else address, status_code=303)


def note_trashed(request: Request) -> None:
    """Remember for the page of this request what was moved to the trash right before."""
    kind, _, id = request.query_params.get(PARAMETER, "").partition("/")
    try:
        _shown.set(f"{kind}/{UUID(id)}" if kind in get_args(TrashKind) else "")
    except ValueError:
        _shown.set("")


def just_trashed() -> str:
    """The kind and the id of what the page is to say that it was moved to the trash, or nothing."""
    return _shown.get()
