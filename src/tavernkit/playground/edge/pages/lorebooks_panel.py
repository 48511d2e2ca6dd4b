"""The tab of the side panel that shows which lorebooks are in play."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Request, Response

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.lorebooks_panel import lore_view
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_access, panel_answer, panel_page
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.story.lorebooks.documents import NewLink, PatchLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook, change_link, detach_lorebook
from tavernkit.playground.story.lorebooks.queries import lorebook_of

router = APIRouter(prefix="/conversations/{conversation_id}/panel/lore", dependencies=IN_PANEL)


@router.get("")
async def lore(request: Request, caller: PageCaller, conversation_id: UUID) -> Response:
    view = await lore_view(*caller, conversation_id)
    return panel_page(request, "lore", view)


@router.post("")
async def attach(
    request: Request,
    caller: PageCaller,
    conversation_id: UUID,
    lorebook_id: Annotated[UUID, Form()],
    place: Annotated[Literal["conversation", "space"], Form()] = "conversation",
) -> Response:
    async with caller.runtime.database.read() as session:
        # The book first: who has no such book is told nothing about conversations.
        await lorebook_of(session, caller.viewer, lorebook_id)
        conversation, access = await panel_access(session, caller.viewer, conversation_id)
    new = (
        NewLink(lorebook_id=lorebook_id, conversation_id=conversation.id)
        if place == "conversation"
        else NewLink(lorebook_id=lorebook_id, space_id=access.space.id)
    )
    return await _answer(request, caller, conversation_id, attach_lorebook(*caller, new))


@router.post("/{link_id}")
async def switch(
    request: Request, caller: PageCaller, conversation_id: UUID, link_id: UUID, enabled: Annotated[bool, Form()]
) -> Response:
    change = change_link(*caller, link_id, PatchLink(enabled=enabled))
    return await _answer(request, caller, conversation_id, change)


@router.post("/{link_id}/detach")
async def detach(request: Request, caller: PageCaller, conversation_id: UUID, link_id: UUID) -> Response:
    return await _answer(request, caller, conversation_id, detach_lorebook(*caller, link_id))


async def _answer(request: Request, caller: Caller, conversation_id: UUID, change: Awaitable[object]) -> Response:
    """The tab after a change, or with why there was none."""
    refused: Refused | None = None
    try:
        await change
    except Refused as raised:
        if raised.code == "not_found":
            raise
        refused = raised
    view = await lore_view(*caller, conversation_id, problem=refused.sentence if refused else "")
    return panel_answer(request, "lore", view, otherwise=view.panel.address, refused=refused)
