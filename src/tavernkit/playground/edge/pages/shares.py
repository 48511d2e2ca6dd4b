"""Sharing characters, lorebooks and presets: a frame in the page of each, and a page for those without scripts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.shares import shares_view
from tavernkit.playground.edge.web.forms import fresh_page, refusal_of
from tavernkit.playground.edge.web.requests import PageCaller, Visitor
from tavernkit.playground.story.access.sharing import NounColumn, share, unshare

router = APIRouter(prefix="/shares")


def _shared(
    character_id: UUID | None = None, lorebook_id: UUID | None = None, preset_id: UUID | None = None
) -> tuple[NounColumn, UUID]:
    named: dict[NounColumn, UUID | None] = {
        "character_id": character_id,
        "lorebook_id": lorebook_id,
        "preset_id": preset_id,
    }
    given = [(column, id) for column, id in named.items() if id is not None]
    if len(given) != 1:
        raise Refused("invalid", _("Name exactly one of character_id, lorebook_id and preset_id."))
    return given[0]


Shared = Annotated[tuple[NounColumn, UUID], Depends(_shared)]


@router.get("")
async def shares(caller: PageCaller, shared: Shared) -> Response:
    return fresh_page("shares.html", view=await shares_view(*caller, *shared))


@router.post("")
async def add(caller: PageCaller, shared: Shared, space_id: Annotated[UUID | Literal[""], Form()] = "") -> Response:
    """Share something with a space, or with everybody where none is chosen."""
    return await _after(caller, shared, share(*caller, *shared, space_id or None))


@router.post("/{share_id}/remove")
async def remove(caller: PageCaller, shared: Shared, share_id: UUID) -> Response:
    return await _after(caller, shared, unshare(*caller, share_id))


async def _after(caller: Visitor, shared: tuple[NounColumn, UUID], action: Awaitable[object]) -> Response:
    """Do it, and show with whom it is shared then."""
    refused = await refusal_of(action)
    if refused is None:
        column, id = shared
        return RedirectResponse(f"/shares?{column}={id}", status_code=303)
    view = await shares_view(*caller, *shared, problem=refused.sentence)
    return fresh_page("shares.html", refused, view=view)
