"""Linking lorebooks with characters, personas, spaces, conversations and all stories, from the page of either side.

Each side has a frame in its own page, `lorebooks/_links_frame.html`, and a page for those without scripts.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query, Response
from fastapi.responses import RedirectResponse
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import LorebookLink
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.edge.presenting.lorebook_links import LinksView, book_links_view, place_links_view
from tavernkit.playground.edge.web.forms import Flag, page, refusal_of
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.story.lorebooks.documents import LinkPlace, NewLink, PatchLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook, change_link, detach_lorebook
from tavernkit.playground.story.lorebooks.queries import PLACES

router = APIRouter()

Side = Annotated[Literal["book", "place"], Form()]
"""From whose page a link is changed, and which is shown again."""


def _place(
    space_id: UUID | None = None,
    conversation_id: UUID | None = None,
    character_id: UUID | None = None,
    persona_id: UUID | None = None,
    user_id: UUID | None = None,
) -> LinkPlace:
    named = (space_id, conversation_id, character_id, persona_id, user_id)
    if sum(1 for id in named if id is not None) != 1:
        sentence = _("Name exactly one of space_id, conversation_id, character_id, persona_id and user_id.")
        raise Refused("invalid", sentence)
    return LinkPlace(**dict(zip(PLACES, named, strict=True)))


Place = Annotated[LinkPlace, Depends(_place)]


@router.get("/lorebooks/{lorebook_id}/links")
async def of_book(
    caller: PageCaller, lorebook_id: UUID, search: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    return _page(await book_links_view(*caller, lorebook_id, search=search))


@router.get("/lorebook_links")
async def of_place(caller: PageCaller, place: Place) -> Response:
    return _page(await place_links_view(*caller, place))


@router.post("/lorebook_links")
async def attach(caller: PageCaller, place: Place, lorebook_id: Annotated[UUID, Form()], side: Side) -> Response:
    new = NewLink.model_validate({"lorebook_id": lorebook_id, **place.as_columns()})
    return await _answer(caller, side, lorebook_id, place, attach_lorebook(*caller, new))


@router.post("/lorebook_links/{link_id}")
async def switch(caller: PageCaller, link_id: UUID, enabled: Flag, side: Side) -> Response:
    lorebook_id, place = await _ends(caller, link_id)
    return await _answer(caller, side, lorebook_id, place, change_link(*caller, link_id, PatchLink(enabled=enabled)))


@router.post("/lorebook_links/{link_id}/detach")
async def detach(caller: PageCaller, link_id: UUID, side: Side) -> Response:
    lorebook_id, place = await _ends(caller, link_id)
    return await _answer(caller, side, lorebook_id, place, detach_lorebook(*caller, link_id))


async def _ends(caller: Caller, link_id: UUID) -> tuple[UUID, LinkPlace]:
    async with caller.runtime.database.read() as session:
        return await _ends_of(session, link_id)


async def _ends_of(session: AsyncSession, link_id: UUID) -> tuple[UUID, LinkPlace]:
    link = existing(await session.get(LorebookLink, link_id), _("link"))
    return link.lorebook_id, LinkPlace(**{column: getattr(link, column) for column in PLACES})


async def _answer(
    caller: Caller, side: str, lorebook_id: UUID, place: LinkPlace, change: Awaitable[object]
) -> Response:
    """The side that asked, after the change or with why there was none."""
    refused = await refusal_of(change)
    problem = refused.sentence if refused else ""
    if side == "book":
        view = await book_links_view(*caller, lorebook_id, problem=problem)
    else:
        view = await place_links_view(*caller, place, problem=problem)
    return _page(view, refused) if refused else RedirectResponse(view.address, status_code=303)


def _page(view: LinksView, refused: Refused | None = None) -> Response:
    return page("lorebooks/links.html", refused, view=view)
