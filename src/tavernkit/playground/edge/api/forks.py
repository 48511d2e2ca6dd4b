"""Branches and the tree they make, over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from tavernkit.playground.edge.api.errors import documented
from tavernkit.playground.edge.api.requests import ApiViewer, Limit
from tavernkit.playground.edge.api.schemas.forks import ForkIn, TreeNodeOut, TreePage
from tavernkit.playground.edge.web.requests import AppRuntime
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.tree import read_tree

router = APIRouter(prefix="/conversations/{conversation_id}", tags=["branches"])

ConversationId = Annotated[UUID, Path(description="The conversation.")]


@router.post("/fork", status_code=201, responses=documented(409))
async def fork_conversation(
    runtime: AppRuntime, viewer: ApiViewer, conversation_id: ConversationId, body: ForkIn
) -> ConversationOut:
    """Go on differently from a message: a conversation of its own with everything up to it."""
    child = await fork(
        runtime,
        viewer,
        conversation_id,
        body.message_id,
        kind=body.kind,
        title=body.title,
        visibility=body.visibility,
        fork_id=body.id,
    )
    return ConversationOut.model_validate(child)


@router.get("/tree", responses=documented())
async def show_tree(
    runtime: AppRuntime,
    viewer: ApiViewer,
    conversation_id: ConversationId,
    after: Annotated[UUID | None, Query(description="The `next` of the page before.")] = None,
    limit: Limit = 200,
) -> TreePage:
    """All conversations that grew out of the same root."""
    nodes = await read_tree(runtime, viewer, conversation_id, after=after, limit=limit + 1)
    items = [TreeNodeOut.of(node) for node in nodes[:limit]]
    return TreePage(items=items, next=items[-1].id if len(nodes) > limit else None)
