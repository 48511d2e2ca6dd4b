"""Spaces over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from tavernkit.playground.base.paging import behind_time, moment
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.api.schemas.jobs import JobOut
from tavernkit.playground.edge.api.schemas.spaces import SpaceChange, SpaceIn, SpaceItem, SpaceMember, SpaceOpened
from tavernkit.playground.story.access.documents import SpaceOut
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.spaces.queries import ListedSpace, list_spaces, read_space
from tavernkit.playground.story.spaces.service import change_space, create_space, delete_space

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
    return page(rows, limit, _item, lambda row: (moment(row.last_active_at), str(row.space.id)))


@router.post("", status_code=201, responses=documented())
async def create(caller: ApiCaller, body: SpaceIn) -> SpaceOpened:
    """Open a space with its characters; a conversation begins with their greetings."""
    opened = await create_space(
        *caller,
        kind=body.kind,
        name=body.name,
        character_ids=body.character_ids,
        persona_id=body.persona_id,
        persona=body.persona,
        name_override=body.name_override,
        greeting=body.greeting,
    )
    return SpaceOpened(
        space=SpaceOut.of(opened.space), conversation=ConversationOut.model_validate(opened.conversation)
    )


@router.get("/{space_id}", responses=documented())
async def show(caller: ApiCaller, space_id: UUID) -> SpaceOut:
    """One space."""
    return SpaceOut.of(await read_space(*caller, space_id))


@router.patch("/{space_id}", responses=documented(409))
async def change(caller: ApiCaller, space_id: UUID, body: SpaceChange) -> SpaceOut:
    """Rename a space, archive it, or bring it back."""
    space = await change_space(
        *caller, space_id, settings_version=body.settings_version, name=body.name, archived=body.archived
    )
    return SpaceOut.of(space)


@router.delete(
    "/{space_id}",
    status_code=204,
    response_model=None,
    responses={**documented(), 202: {"model": JobOut, "description": "It is large: a job removes it."}},
)
async def remove(caller: ApiCaller, space_id: UUID) -> Response:
    """Delete a space with everything said in it."""
    job = await delete_space(*caller, space_id)
    if job is None:
        return Response(status_code=204)
    return Response(JobOut.of(job).model_dump_json(), status_code=202, media_type="application/json")


def _item(row: ListedSpace) -> SpaceItem:
    return SpaceItem(
        **SpaceOut.of(row.space).model_dump(),
        last_active_at=row.last_active_at,
        last_message=row.last_message,
        members=[
            SpaceMember(id=member.id, kind=member.kind, name=member.cached_display_name) for member in row.members
        ],
    )
