"""Spaces over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import behind_time, moment
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.access.documents import SpaceChange, SpaceIn, SpaceOut
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES
from tavernkit.playground.story.spaces.backgrounds import choose_background, upload_background
from tavernkit.playground.story.spaces.queries import LastMessage, ListedSpace, list_spaces, read_space
from tavernkit.playground.story.spaces.service import change_space, create_space, delete_space


class SpaceOpened(BaseModel):
    """A space that was just made, with its first conversation."""

    space: SpaceOut
    conversation: ConversationOut


class SpaceMember(Document):
    """Somebody in a space, for a list."""

    id: UUID
    kind: str
    name: str


class SpaceItem(SpaceOut):
    """A space in a list."""

    last_active_at: datetime
    last_message: LastMessage | None
    members: list[SpaceMember]

    @classmethod
    def of(cls, row: ListedSpace) -> Self:
        members = [SpaceMember.of_row(member, name=member.cached_display_name) for member in row.members]
        return cls.of_row(row.space, last_active_at=row.last_active_at, last_message=row.last_message, members=members)


router = APIRouter(prefix="/spaces", tags=["spaces"])


@router.get("", responses=documented())
async def index(
    caller: ApiCaller,
    status: Annotated[Literal["active", "archived"], Query(description="Those in use, or those put aside.")] = "active",
    after: After = None,
    limit: Limit = 50,
) -> Page[SpaceItem]:
    """The spaces that you are in, the most recently used first."""
    rows = await list_spaces(*caller, status=status, after=behind_time(after), limit=limit + 1)
    return page(rows, limit, SpaceItem.of, lambda row: (moment(row.last_active_at), str(row.space.id)))


@router.post("", status_code=201, responses=documented())
async def create(caller: ApiCaller, body: SpaceIn) -> SpaceOpened:
    """Open a space with its characters; a conversation begins with their greetings."""
    opened = await create_space(*caller, **dict(body))
    return SpaceOpened(space=SpaceOut.of_row(opened.space), conversation=ConversationOut.of_row(opened.conversation))


@router.get("/{space_id}", responses=documented())
async def show(caller: ApiCaller, space_id: UUID) -> SpaceOut:
    """One space."""
    return SpaceOut.of_row(await read_space(*caller, space_id))


@router.patch("/{space_id}", responses=documented(409))
async def change(caller: ApiCaller, space_id: UUID, body: SpaceChange) -> SpaceOut:
    """Rename a space, archive it, or bring it back."""
    return SpaceOut.of_row(await change_space(*caller, space_id, **dict(body)))


class BackgroundIn(StrictModel):
    """A background that a character of the space brings with it."""

    sha256: str = Field(max_length=64, description="Of the file.")


@router.put("/{space_id}/background", openapi_extra=ONE_FILE, responses=documented(413))
async def put_background(request: Request, caller: ApiCaller, space_id: UUID) -> SpaceOut:
    """Show a picture behind the chats of a space."""
    data = await one_file(request, max_bytes=MAX_PICTURE_BYTES)
    return SpaceOut.of_row(await upload_background(*caller, space_id, data))


@router.post("/{space_id}/background", responses=documented())
async def take_background(caller: ApiCaller, space_id: UUID, body: BackgroundIn) -> SpaceOut:
    """Show a background of one of its characters behind the chats of a space."""
    return SpaceOut.of_row(await choose_background(*caller, space_id, body.sha256))


@router.delete("/{space_id}/background", responses=documented())
async def remove_background(caller: ApiCaller, space_id: UUID) -> SpaceOut:
    """Show no picture behind the chats of a space."""
    return SpaceOut.of_row(await choose_background(*caller, space_id, None))


@router.delete("/{space_id}", status_code=204, responses=documented())
async def remove(caller: ApiCaller, space_id: UUID) -> None:
    """Move a space with everything said in it to the trash."""
    await delete_space(*caller, space_id)
