"""Messages and swipes over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field, model_validator

from tavernkit.playground.base.database.models import MessagePicture, MessageSwipe
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, Limit, documented
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
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
from tavernkit.playground.story.paths.documents import MessageOut, PictureOut
from tavernkit.playground.story.paths.pictures import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    PictureIn,
    discard_picture,
    pictures_of_swipes,
    upload_picture,
)
from tavernkit.playground.story.paths.state import shown_message
from tavernkit.playground.story.paths.writing import MAX_MESSAGE_CHARACTERS

Content = Annotated[
    str,
    Field(description=f"The text, at most {MAX_MESSAGE_CHARACTERS:,} characters; it may be empty beside pictures."),
]
Revision = Annotated[
    int | None,
    Field(ge=1, description="The revision that was read; a change made from an older one is refused as stale."),
]


Pictures = Annotated[list[PictureIn], Field(max_length=MAX_PICTURES)]


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
    pictures: list[PictureOut]
    run_id: UUID | None = Field(description="The run that wrote it.")
    state_delta: dict[str, Any] | None = Field(description="What telling it this way changes in the story's state.")
    metadata: dict[str, Any]
    created_at: datetime

    @classmethod
    def of(cls, swipe: MessageSwipe, pictures: Sequence[MessagePicture]) -> Self:
        return cls.of_row(
            swipe, pictures=[PictureOut.of_row(picture) for picture in pictures], metadata=swipe.metadata_
        )


class SwipePage(BaseModel):
    """Swipes in their order."""

    items: list[SwipeOut]
    next: int | None = Field(description="Where to go on, to be given as `after`. Null at the end.")


class MessageIn(StrictModel):
    """Something to say."""

    id: UUID | None = Field(default=None, description="Made by the client, so that sending again never doubles it.")
    content: Content = ""
    pictures: Pictures = Field(default=[], description="Pictures that were uploaded into the conversation.")
    role: Literal["user", "system"] = Field(
        default="user", description="What a `user` says is answered; `system` is narration, which nobody answers."
    )


class SwipeEdit(StrictModel):
    """A new text for one swipe."""

    content: Content
    pictures: Pictures | None = Field(
        default=None, description="All pictures that it is to have, in their order; null leaves those that it has."
    )
    revision: Revision = None


class MessageEdit(SwipeEdit):
    """A new text for the active swipe."""


class SwipeIn(StrictModel):
    """Another version, written by hand."""

    id: UUID | None = Field(default=None, description="Made by the client, so that adding again never doubles it.")
    content: Content = ""
    pictures: Pictures = Field(default=[], description="Pictures that were uploaded into the conversation.")
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
    sent = await send_message(
        *caller,
        conversation_id,
        message_id=message_id,
        content=body.content,
        pictures=body.pictures,
        role=body.role,
    )
    return await _out(caller.runtime, sent.id)


@router.post(
    "/conversations/{conversation_id}/pictures",
    status_code=201,
    openapi_extra=ONE_FILE,
    responses=documented(409, 413),
)
async def add_picture(request: Request, caller: ApiCaller, conversation_id: ConversationId) -> PictureOut:
    """Upload a picture, to be sent with a message: PNG, JPEG, WebP or GIF.

    A large one is made smaller, and what a camera or a program has written into it is removed.
    """
    data = await one_file(request, max_bytes=MAX_PICTURE_BYTES)
    return PictureOut.of_row(await upload_picture(*caller, conversation_id, data))


@router.delete("/pictures/{picture_id}", status_code=204, responses=documented())
async def remove_picture(caller: ApiCaller, picture_id: UUID) -> None:
    """Remove a picture that was uploaded and not sent."""
    await discard_picture(*caller, picture_id)


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
    """Move a message to the trash."""
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
    return SwipePage(items=[SwipeOut.of(swipe, page.pictures[swipe.id]) for swipe in page.swipes], next=page.next)


@router.post("/messages/{message_id}/swipes", status_code=201, responses=documented(409))
async def create_swipe(caller: ApiCaller, message_id: MessageId, body: SwipeIn) -> SwipeOut:
    """Add a version written by hand."""
    added = await add_swipe(
        *caller,
        message_id,
        swipe_id=body.id or caller.runtime.ids(),
        content=body.content,
        pictures=body.pictures,
        activate=body.activate,
    )
    async with caller.runtime.database.read() as session:
        return SwipeOut.of(added, (await pictures_of_swipes(session, [added.id]))[added.id])


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
