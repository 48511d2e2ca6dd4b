"""Conversations over HTTP, without their messages and branches."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from tavernkit.playground.base.paging import behind_time, moment
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.api.schemas.conversations import ConversationChange, ConversationIn, ConversationItem
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.conversations.listing import ListedConversation, list_conversations, read_conversation
from tavernkit.playground.story.conversations.service import (
    change_conversation,
    create_conversation,
    delete_conversation,
)

router = APIRouter(tags=["conversations"])


@router.get("/spaces/{space_id}/conversations", responses=documented())
async def index(caller: ApiCaller, space_id: UUID, after: After = None, limit: Limit = 50) -> Page[ConversationItem]:
    """The conversations of a space, those that changed last first."""
    rows = await list_conversations(*caller, space_id, after=behind_time(after), limit=limit + 1)
    return page(rows, limit, _item, lambda row: (moment(row.conversation.updated_at), str(row.conversation.id)))


@router.post("/spaces/{space_id}/conversations", status_code=201, responses=documented(409))
async def create(caller: ApiCaller, space_id: UUID, body: ConversationIn) -> ConversationOut:
    """Begin another conversation in a space."""
    conversation = await create_conversation(
        *caller, space_id, title=body.title, visibility=body.visibility, greeting=body.greeting
    )
    return ConversationOut.model_validate(conversation)


@router.get("/conversations/{conversation_id}", responses=documented())
async def show(caller: ApiCaller, conversation_id: UUID) -> ConversationOut:
    """One conversation."""
    return ConversationOut.model_validate(await read_conversation(*caller, conversation_id))


@router.patch("/conversations/{conversation_id}", responses=documented(409))
async def change(caller: ApiCaller, conversation_id: UUID, body: ConversationChange) -> ConversationOut:
    """Rename a conversation, archive it or bring it back, or say who may see it."""
    conversation = await change_conversation(
        *caller,
        conversation_id,
        settings_version=body.settings_version,
        title=body.title,
        visibility=body.visibility,
        archived=body.archived,
    )
    return ConversationOut.model_validate(conversation)


@router.delete("/conversations/{conversation_id}", status_code=204, responses=documented(409))
async def remove(caller: ApiCaller, conversation_id: UUID) -> None:
    """Delete a conversation with its messages. What branches from it stays, and hangs where this one hung."""
    await delete_conversation(*caller, conversation_id)


def _item(row: ListedConversation) -> ConversationItem:
    return ConversationItem(**ConversationOut.model_validate(row.conversation).model_dump(), last_text=row.last_text)
