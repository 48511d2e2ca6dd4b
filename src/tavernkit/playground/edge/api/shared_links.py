"""Links with which others read a conversation."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from tavernkit.playground.edge.api.requests import ApiCaller, Page, documented
from tavernkit.playground.story.shared_links.documents import NewSharedLinkOut, SharedLinkIn, SharedLinkOut
from tavernkit.playground.story.shared_links.service import create_shared_link, list_shared_links, revoke_shared_link

router = APIRouter(tags=["conversations"])


@router.get("/conversations/{conversation_id}/shared_links", responses=documented())
async def show_shared_links(caller: ApiCaller, conversation_id: UUID) -> Page[SharedLinkOut]:
    """The links to a conversation that work, for who may share it; all on one page."""
    *_, links = await list_shared_links(*caller, conversation_id)
    return Page(items=[SharedLinkOut.of_row(row) for row in links])


@router.post("/conversations/{conversation_id}/shared_links", status_code=201, responses=documented(409))
async def make_shared_link(caller: ApiCaller, conversation_id: UUID, body: SharedLinkIn) -> NewSharedLinkOut:
    """Let anybody who has the link read the conversation."""
    made = await create_shared_link(*caller, conversation_id, **dict(body))
    return NewSharedLinkOut.of_row(made.row, path=f"/shared/{made.token}")


@router.delete("/shared_links/{shared_link_id}", status_code=204, responses=documented())
async def end_shared_link(caller: ApiCaller, shared_link_id: UUID) -> None:
    """Let nobody read with a link any more."""
    await revoke_shared_link(*caller, shared_link_id)
