"""The page with the tree of conversations, and what can be done there."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.schemas.conversations import ConversationChange
from tavernkit.playground.edge.presenting.conversation_tree import tree_view
from tavernkit.playground.edge.web.forms import Version, understood
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.story.conversations.listing import read_conversation
from tavernkit.playground.story.conversations.service import change_conversation, delete_conversation

router = APIRouter(prefix="/conversations/{conversation_id}")

Here = Annotated[UUID | None, Form()]
_UNCACHED = {"Cache-Control": "no-store"}


@router.get("/tree")
async def tree(caller: PageCaller, conversation_id: UUID) -> Response:
    view = await tree_view(*caller, conversation_id)
    return HTMLResponse(str(render("tree.html", view=view)), headers=_UNCACHED)


@router.post("/rename")
async def rename(
    caller: PageCaller,
    conversation_id: UUID,
    settings_version: Version,
    title: Annotated[str, Form(max_length=10_000)],
    here: Here = None,
) -> Response:
    """Give a conversation another title; `here` is the one whose tree is looked at."""
    shown = here or conversation_id
    try:
        change = understood(ConversationChange, settings_version=settings_version, title=title)
        await change_conversation(*caller, conversation_id, settings_version=settings_version, title=change.title)
    except Refused as refused:
        return await _refused(caller, shown, conversation_id, refused, typed=title)
    return RedirectResponse(f"/conversations/{shown}/tree#node_{conversation_id}", status_code=303)


@router.post("/delete")
async def delete(caller: PageCaller, conversation_id: UUID, here: Here = None) -> Response:
    """Delete a conversation, and go back to the tree that it was in, if there is one left."""
    row = await read_conversation(*caller, conversation_id)
    try:
        await delete_conversation(*caller, conversation_id)
    except Refused as refused:
        return await _refused(caller, here or conversation_id, conversation_id, refused, typed="")
    left = here if here != conversation_id else row.parent_conversation_id
    address = f"/spaces/{row.space_id}" if left is None else f"/conversations/{left}/tree"
    return RedirectResponse(address, status_code=303)


async def _refused(caller: Caller, shown: UUID, conversation_id: UUID, refused: Refused, *, typed: str) -> Response:
    """The tree with the sentence beside the conversation that it is about."""
    if refused.code == "not_found":
        raise refused
    view = await tree_view(*caller, shown, problem=refused.sentence, problem_id=conversation_id, typed=typed)
    return HTMLResponse(str(render("tree.html", view=view)), refused.status, _UNCACHED)
