"""Messages and swipes over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, model_validator

from tavernkit.playground.base.database.models import MessageSwipe
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, Limit, documented
from tavernkit.playground.story.messages.service import (
    add_swipe,
    delete_swipe,
    edit_message,
    edit_swipe,
    exclude_message,
    hide_message,
    include_message,
    read_message,
    read_messages,
    read_swipes,
    restore_message,
    select_swipe,
    send_message,
)
from tavernkit.playground.story.paths.documents import MessageOut
from tavernkit.playground.story.paths.state import shown_message
from tavernkit.playground.story.paths.writing import MAX_MESSAGE_CHARACTERS

Content = Annotated[str, Field(description=f"The text, at most {MAX_MESSAGE_CHARACTERS:,} characters.")]
Revision = Annotated[
    int | None,
    Field(ge=1, description="The revision that was read; a change made from an older one is refused as stale."),
]


class MessagePage(BaseModel):
    """Messages, oldest first."""

    items: list[MessageOut]
    next: int | None = Field(
        description="Where to go on: to be given as `before`, or as `after` where that was asked for. Null at the end."
    )


class SwipeOut(Document):
    """One version of a message."""

    id: UUID
    message_id: UUID
    position: int
    content: str
    run_id: UUID | None = Field(description="The run that wrote it.")
    state_delta: dict[str, Any] | None = Field(description="What telling it this way changes in the story's state.")
    metadata: dict[str, Any]
    created_at: datetime

    @classmethod
    def of(cls, swipe: MessageSwipe) -> Self:
        return cls.of_row(swipe, metadata=swipe.metadata_)


class SwipePage(BaseModel):
    """Swipes in their order."""

    items: list[SwipeOut]
    next: int | None = Field(description="Where to go on, to be given as `after`. Null at the end.")


class MessageIn(StrictModel):
    """Something to say."""

    id: UUID | None = Field(default=None, description="Made by the client, so that sending again never doubles it.")
    content: Content
    role: Literal["user", "system"] = Field(
        default="user", description="What a `user` says is answered; `system` is narration, which nobody answers."
    )


class SwipeEdit(StrictModel):
    """A new text for one swipe."""

    content: Content
    revision: Revision = None


class MessageEdit(SwipeEdit):
    """A new text for the active swipe."""


class SwipeIn(StrictModel):
    """Another version, written by hand."""

    id: UUID | None = Field(default=None, description="Made by the client, so that adding again never doubles it.")
    content: Content
    activate: bool = Field(default=True, description="Whether it is seen at once.")


class ActiveSwipeIn(StrictModel):
    """Which swipe is to be seen: by its position, or the one beside the one that is seen now."""

    position: int | None = Field(default=None, ge=0, le=2**31 - 1)
    direction: Literal["left", "right"] | None = Field(default=None, description="At either end, nothing changes.")
    revision: Revision = None

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if (self.position is None) == (self.direction is None):
            raise ValueError("give either a position or a direction")
        return self

    @property
    def to(self) -> int | Literal["left", "right"]:
        if self.direction is not None:
            return self.direction
        return self.position or 0


router = APIRouter(tags=["messages"])

Seq = Annotated[int | None, Query(ge=0, le=2**63 - 1)]
MessageId = Annotated[UUID, Path(description="The message.")]


@router.get("/conversations/{conversation_id}/messages", responses=documented())
async def list_messages(
    caller: ApiCaller, conversation_id: ConversationId, before: Seq = None, after: Seq = None, limit: Limit = 50
) -> MessagePage:
    """The newest messages below the number `before`, or the oldest above `after`; always oldest first."""
    page = await read_messages(*caller, conversation_id, before=before, after=after, limit=limit)
    return MessagePage(items=[MessageOut.of(shown) for shown in page.messages], next=page.next)


@router.post("/conversations/{conversation_id}/messages", status_code=201, responses=documented(409, 423))
async def create_message(caller: ApiCaller, conversation_id: ConversationId, body: MessageIn) -> MessageOut:
    """Say something. With an id of your own, sending again what may have arrived never doubles it."""
    message_id = body.id or caller.runtime.ids()
    sent = await send_message(*caller, conversation_id, message_id=message_id, content=body.content, role=body.role)
    return await _out(caller.runtime, sent.id)


@router.get("/messages/{message_id}", responses=documented())
async def show_message(caller: ApiCaller, message_id: MessageId) -> MessageOut:
    """One message."""
    return MessageOut.of(await read_message(*caller, message_id))


@router.patch("/messages/{message_id}", responses=documented(409))
async def change_message(caller: ApiCaller, message_id: MessageId, body: MessageEdit) -> MessageOut:
    """Rewrite the version that is seen."""
    await edit_message(*caller, message_id, **dict(body))
    return await _out(caller.runtime, message_id)


@router.post("/messages/{message_id}/hide", responses=documented(409))
async def hide(caller: ApiCaller, message_id: MessageId) -> MessageOut:
    """Delete a message so that it can be restored."""
    await hide_message(*caller, message_id)
    return await _out(caller.runtime, message_id)


@router.post("/messages/{message_id}/restore", responses=documented(409))
async def restore(caller: ApiCaller, message_id: MessageId) -> MessageOut:
    """Bring a hidden message back."""
    await restore_message(*caller, message_id)
    return await _out(caller.runtime, message_id)


@router.post("/messages/{message_id}/exclude", responses=documented(409))
async def exclude(caller: ApiCaller, message_id: MessageId) -> MessageOut:
    """Keep a message out of prompts."""
    await exclude_message(*caller, message_id)
    return await _out(caller.runtime, message_id)


@router.post("/messages/{message_id}/include", responses=documented(409))
async def include(caller: ApiCaller, message_id: MessageId) -> MessageOut:
    """Put a message back into prompts."""
    await include_message(*caller, message_id)
    return await _out(caller.runtime, message_id)


@router.get("/messages/{message_id}/swipes", responses=documented())
async def list_swipes(
    caller: ApiCaller,
    message_id: MessageId,
    after: Annotated[int, Query(ge=-1, le=2**31 - 1, description="The position behind which to begin.")] = -1,
    limit: Limit = 50,
) -> SwipePage:
    """The versions of a message in their order."""
    page = await read_swipes(*caller, message_id, after=after, limit=limit)
    return SwipePage(items=[SwipeOut.of(swipe) for swipe in page.swipes], next=page.next)


@router.post("/messages/{message_id}/swipes", status_code=201, responses=documented(409))
async def create_swipe(caller: ApiCaller, message_id: MessageId, body: SwipeIn) -> SwipeOut:
    """Add a version written by hand."""
    added = await add_swipe(
        *caller, message_id, swipe_id=body.id or caller.runtime.ids(), content=body.content, activate=body.activate
    )
    return SwipeOut.of(added)


@router.put("/messages/{message_id}/active_swipe", responses=documented(409))
async def choose_swipe(caller: ApiCaller, message_id: MessageId, body: ActiveSwipeIn) -> MessageOut:
    """Show another version."""
    await select_swipe(*caller, message_id, body.to, revision=body.revision)
    return await _out(caller.runtime, message_id)


@router.patch("/messages/{message_id}/swipes/{swipe_id}", responses=documented(409))
async def change_swipe(caller: ApiCaller, message_id: MessageId, swipe_id: UUID, body: SwipeEdit) -> MessageOut:
    """Rewrite one version, seen or not."""
    await edit_swipe(*caller, message_id, swipe_id, **dict(body))
    return await _out(caller.runtime, message_id)


@router.delete("/messages/{message_id}/swipes/{swipe_id}", responses=documented(409))
async def remove_swipe(
    caller: ApiCaller, message_id: MessageId, swipe_id: UUID, revision: Annotated[Revision, Query()] = None
) -> MessageOut:
    """Remove a version; never the last."""
    await delete_swipe(*caller, message_id, swipe_id, revision=revision)
    return await _out(caller.runtime, message_id)


async def _out(runtime: Runtime, message_id: UUID) -> MessageOut:
    """A message that has just been changed, whoever may see it."""
    async with runtime.database.read() as session:
        return MessageOut.of(await shown_message(session, message_id))
