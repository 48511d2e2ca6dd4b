"""Members over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from tavernkit.playground.base.paging import foreign_cursor, place_behind
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.story.access.access import list_members, read_member
from tavernkit.playground.story.access.documents import MemberChange, MemberIn, MemberOrder, MemberOut
from tavernkit.playground.story.members.service import add_member, change_member, remove_member, reorder_members

router = APIRouter(tags=["members"])


@router.get("/spaces/{space_id}/members", responses=documented())
async def index(
    caller: ApiCaller,
    space_id: UUID,
    removed: Annotated[bool, Query(description="Whether to list those too who were removed.")] = False,
    after: After = None,
    limit: Limit = 50,
) -> Page[MemberOut]:
    """Who is in a space, in their order."""
    rows = await list_members(*caller, space_id, removed=removed, after=_behind(after), limit=limit + 1)
    return page(rows, limit, MemberOut.of, lambda row: (row.position, str(row.id)))


@router.post("/spaces/{space_id}/members", status_code=201, responses=documented(409))
async def add(caller: ApiCaller, space_id: UUID, body: MemberIn) -> MemberOut:
    """Let a character or, in a discussion, a person join; who was there before comes back as the same member."""
    member = await add_member(*caller, space_id, character_id=body.character_id, user_id=body.user_id)
    return MemberOut.of(member)


@router.put("/spaces/{space_id}/members/order", responses=documented(409))
async def reorder(caller: ApiCaller, space_id: UUID, body: MemberOrder) -> list[MemberOut]:
    """Put the members of a space into another order."""
    members = await reorder_members(
        *caller, space_id, settings_version=body.settings_version, member_ids=body.member_ids
    )
    return [MemberOut.of(member) for member in members]


@router.get("/members/{member_id}", responses=documented())
async def show(caller: ApiCaller, member_id: UUID) -> MemberOut:
    """One member."""
    return MemberOut.of(await read_member(*caller, member_id))


@router.patch("/members/{member_id}", responses=documented(409))
async def change(caller: ApiCaller, member_id: UUID, body: MemberChange) -> MemberOut:
    """Change how a member takes part."""
    changes = body.model_dump(exclude_unset=True, exclude={"settings_version"})
    member = await change_member(*caller, member_id, settings_version=body.settings_version, changes=changes)
    return MemberOut.of(member)


@router.delete("/members/{member_id}", responses=documented(409))
async def remove(
    caller: ApiCaller,
    member_id: UUID,
    reason: Annotated[str | None, Query(max_length=500, description="Why; others can read it.")] = None,
) -> MemberOut:
    """Take a member out of the space. What they said stays, and so does who said it."""
    return MemberOut.of(await remove_member(*caller, member_id, reason=reason))


def _behind(after: str | None) -> tuple[int, UUID] | None:
    """The position and the id that a cursor names."""
    if after is None:
        return None
    position, id = place_behind(after, int, str)
    try:
        return int(position), UUID(str(id))
    except ValueError:
        raise foreign_cursor() from None
