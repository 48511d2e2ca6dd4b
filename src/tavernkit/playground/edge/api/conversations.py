"""Conversations, their branches and the tree these make, over HTTP; without their messages."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import behind_time, moment
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, ConversationId, Limit, Page, documented, page
from tavernkit.playground.story.conversations import service
from tavernkit.playground.story.conversations.documents import (
    ConversationChange,
    ConversationIn,
    ConversationOut,
    Visibility,
)
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.queries import (
    ListedConversation,
    PublicConversation,
    TreeNode,
    list_conversations,
    list_public_conversations,
    read_conversation,
    read_tree,
)
from tavernkit.playground.story.conversations.reading import mark_read


class ConversationItem(ConversationOut):
    """A conversation in a list."""

    last_text: str | None = Field(description="The beginning of its newest message.")
    unread: bool = Field(description="Whether it has messages of others, or of the model, that are new to you.")

    @classmethod
    def of(cls, row: ListedConversation) -> Self:
        return cls.of_row(row.conversation, last_text=row.last_text, unread=row.is_unread)


class PublicConversationItem(ConversationOut):
    """A conversation that everybody with an account may read."""

    last_text: str | None = Field(description="The beginning of its newest message.")
    space_name: str
    owner_name: str = Field(description="The name of who owns the space.")

    @classmethod
    def of_public(cls, row: PublicConversation) -> Self:
        named = {"space_name": row.space_name, "owner_name": row.owner_name}
        return cls.of_row(row.conversation, last_text=row.last_text, **named)


router = APIRouter(tags=["conversations"])


@router.get("/public_conversations", responses=documented())
async def list_public(caller: ApiCaller, after: After = None, limit: Limit = 50) -> Page[PublicConversationItem]:
    """The conversations that everybody with an account may read, those that changed last first."""
    rows = await list_public_conversations(caller.runtime, after=behind_time(after), limit=limit + 1)
    return page(
        rows,
        limit,
        PublicConversationItem.of_public,
        lambda row: (moment(row.conversation.updated_at), str(row.conversation.id)),
    )


@router.get("/spaces/{space_id}/conversations", responses=documented())
async def index(caller: ApiCaller, space_id: UUID, after: After = None, limit: Limit = 50) -> Page[ConversationItem]:
    """The conversations of a space, those that changed last first."""
    rows = await list_conversations(*caller, space_id, after=behind_time(after), limit=limit + 1)
    return page(
        rows, limit, ConversationItem.of, lambda row: (moment(row.conversation.updated_at), str(row.conversation.id))
    )


@router.post("/spaces/{space_id}/conversations", status_code=201, responses=documented(409))
async def create(caller: ApiCaller, space_id: UUID, body: ConversationIn) -> ConversationOut:
    """Begin another conversation in a space."""
    return ConversationOut.of_row(await service.create_conversation(*caller, space_id, **dict(body)))


@router.get("/conversations/{conversation_id}", responses=documented())
async def show(caller: ApiCaller, conversation_id: UUID) -> ConversationOut:
    """One conversation."""
    return ConversationOut.of_row(await read_conversation(*caller, conversation_id))


@router.patch("/conversations/{conversation_id}", responses=documented(409))
async def change(caller: ApiCaller, conversation_id: UUID, body: ConversationChange) -> ConversationOut:
    """Rename a conversation, archive it or bring it back, or say who may see it."""
    return ConversationOut.of_row(await service.change_conversation(*caller, conversation_id, **dict(body)))


@router.delete("/conversations/{conversation_id}", status_code=204, responses=documented(409))
async def remove(caller: ApiCaller, conversation_id: UUID) -> None:
    """Move a conversation to the trash. What branches from it stays, and hangs where this one hung."""
    await service.delete_conversation(*caller, conversation_id)


class ReadPositionIn(StrictModel):
    """How far somebody has read."""

    seq: int = Field(ge=0, le=2**63 - 1, description="The number of the last message that was seen.")


@router.put("/conversations/{conversation_id}/read_position", responses=documented())
async def put_read_position(caller: ApiCaller, conversation_id: UUID, body: ReadPositionIn) -> ReadPositionIn:
    """Mark a conversation as read up to a message. The position never goes back."""
    return ReadPositionIn(seq=await mark_read(*caller, conversation_id, body.seq))


class ForkIn(StrictModel):
    """Where to go on differently, and as what."""

    message_id: UUID = Field(description="The last message that both have.")
    id: UUID | None = Field(default=None, description="Made by the client, so that asking again never doubles it.")
    kind: Literal["branch", "thread", "checkpoint"] = "branch"
    title: str = Field(
        default="",
        description="At most 200 characters; without one, it is named after the message that it goes on from.",
    )
    visibility: Visibility | None = Field(default=None, description="Who may see it; like its parent if not given.")


class TreeNodeOut(ConversationOut):
    """A conversation in its tree."""

    forked_from_seq: int | None = Field(description="The number of the message in its parent that it goes on from.")

    @classmethod
    def of(cls, node: TreeNode) -> Self:
        return cls.of_row(node.conversation, forked_from_seq=node.forked_from_seq)


class TreePage(BaseModel):
    """Conversations in the order they were made, so that parents come first."""

    items: list[TreeNodeOut]
    next: UUID | None = Field(description="Ask with it as `after` for the next page; null at the end.")


branches_router = APIRouter(prefix="/conversations/{conversation_id}", tags=["branches"])


@branches_router.post("/fork", status_code=201, responses=documented(409))
async def fork_conversation(caller: ApiCaller, conversation_id: ConversationId, body: ForkIn) -> ConversationOut:
    """Go on differently from a message: a conversation of its own with everything up to it."""
    wanted = body.model_dump(exclude={"id"})
    return ConversationOut.of_row(await fork(*caller, conversation_id, fork_id=body.id, **wanted))


@branches_router.get("/tree", responses=documented())
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
