"""Branches and the tree they make, over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.requests import ApiCaller, Limit, documented
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.tree import TreeNode, read_tree


class ForkIn(StrictModel):
    """Where to go on differently, and as what."""

    message_id: UUID = Field(description="The last message that both have.")
    id: UUID | None = Field(default=None, description="Made by the client, so that asking again never doubles it.")
    kind: Literal["branch", "thread", "checkpoint"] = "branch"
    title: str = Field(
        default="",
        description="At most 200 characters; without one, it is named after the message that it goes on from.",
    )
    visibility: Literal["shared", "private", "public"] | None = Field(
        default=None, description="Who may see it; like its parent if not given."
    )


class TreeNodeOut(ConversationOut):
    """A conversation in its tree."""

    forked_from_seq: int | None = Field(description="The number of the message in its parent that it goes on from.")

    @classmethod
    def of(cls, node: TreeNode) -> Self:
        row = ConversationOut.model_validate(node.conversation)
        return cls(**row.model_dump(), forked_from_seq=node.forked_from_seq)


class TreePage(BaseModel):
    """Conversations in the order they were made, so that parents come first."""

    items: list[TreeNodeOut]
    next: UUID | None = Field(description="Ask with it as `after` for the next page; null at the end.")


router = APIRouter(prefix="/conversations/{conversation_id}", tags=["branches"])

ConversationId = Annotated[UUID, Path(description="The conversation.")]


@router.post("/fork", status_code=201, responses=documented(409))
async def fork_conversation(caller: ApiCaller, conversation_id: ConversationId, body: ForkIn) -> ConversationOut:
    """Go on differently from a message: a conversation of its own with everything up to it."""
    child = await fork(
        *caller,
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
    caller: ApiCaller,
    conversation_id: ConversationId,
    after: Annotated[UUID | None, Query(description="The `next` of the page before.")] = None,
    limit: Limit = 200,
) -> TreePage:
    """All conversations that grew out of the same root."""
    nodes = await read_tree(*caller, conversation_id, after=after, limit=limit + 1)
    items = [TreeNodeOut.of(node) for node in nodes[:limit]]
    return TreePage(items=items, next=items[-1].id if len(nodes) > limit else None)
