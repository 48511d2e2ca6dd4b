"""Spaces over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.access.documents import SpaceChange, SpaceIn, SpaceOut
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES
from tavernkit.playground.story.spaces.backgrounds import choose_background, upload_background
from tavernkit.playground.story.spaces.marks import MAX_TAGS, TAG_CHARACTERS, pin_space, tag_space
from tavernkit.playground.story.spaces.queries import (
    LastMessage,
    ListedSpace,
    SpaceFilters,
    SpaceSort,
    cursor_of_space,
    list_spaces,
    place_of_space,
    read_space,
)
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
    pinned: bool = Field(description="Whether you have pinned it.")
    unread: bool = Field(description="Whether a conversation in it has messages that are new to you.")
    tags: list[str] = Field(description="The tags that you have given it.")

    @classmethod
    def of(cls, row: ListedSpace) -> Self:
        return cls.of_row(
            row.space,
            last_active_at=row.last_active_at,
            last_message=row.last_message,
            members=[SpaceMember.of_row(member, name=member.cached_display_name) for member in row.members],
            pinned=row.is_pinned,
            unread=row.is_unread,
            tags=row.tags,
        )


router = APIRouter(prefix="/spaces", tags=["spaces"])


@router.get("", responses=documented())
async def index(
    caller: ApiCaller,
    status: Annotated[Literal["active", "archived"], Query(description="Those in use, or those put aside.")] = "active",
    sort: Annotated[SpaceSort, Query(description="By last activity, by name, or the newest first.")] = "recent",
    search: Annotated[str, Query(max_length=200, description="In the name, or in the title of a conversation.")] = "",
    tag: Annotated[str, Query(max_length=200, description="One of your tags.")] = "",
    character_id: Annotated[UUID | None, Query(description="Who takes part.")] = None,
    pinned: Annotated[bool | None, Query(description="Only those that you have pinned, or have not.")] = None,
    unread: Annotated[bool, Query(description="Only those with messages that are new to you.")] = False,
    after: After = None,
    limit: Limit = 50,
) -> Page[SpaceItem]:
    """The spaces that you are in, the most recently used first."""
    filters = SpaceFilters(sort=sort, search=search, tag=tag, character_id=character_id, pinned=pinned, unread=unread)
    rows = await list_spaces(
        *caller, status=status, filters=filters, after=place_of_space(sort, after), limit=limit + 1
    )
    return page(rows, limit, SpaceItem.of, cursor_of_space)


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


@router.put("/{space_id}/pin", status_code=204, responses=documented(409))
async def pin(caller: ApiCaller, space_id: UUID) -> None:
    """Pin a space: it stands first on your first page."""
    await pin_space(*caller, space_id, pinned=True)


@router.delete("/{space_id}/pin", status_code=204, responses=documented())
async def unpin(caller: ApiCaller, space_id: UUID) -> None:
    """Unpin a space."""
    await pin_space(*caller, space_id, pinned=False)


class StoryTags(StrictModel):
    """The tags of a space in one person's list."""

    tags: Annotated[list[Annotated[str, Field(max_length=TAG_CHARACTERS)]], Field(max_length=MAX_TAGS)]


@router.put("/{space_id}/tags", responses=documented())
async def put_tags(caller: ApiCaller, space_id: UUID, body: StoryTags) -> StoryTags:
    """Give a space tags of your own, in place of those that you gave it before."""
    return StoryTags(tags=await tag_space(*caller, space_id, body.tags))


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
