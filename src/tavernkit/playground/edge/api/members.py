"""Members over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from tavernkit.playground.base.paging import foreign_cursor, place_behind
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.story.access.access import list_members, read_member
from tavernkit.playground.story.access.documents import (
    MemberChange,
    MemberIn,
    MemberOrder,
    MemberOut,
    NewOwner,
    NewSpaceInvitationOut,
    SpaceInvitationIn,
    SpaceInvitationOut,
    SpaceOut,
)
from tavernkit.playground.story.members.invitations import (
    accept_invitation,
    invite_to_space,
    open_invitations,
    revoke_space_invitation,
)
from tavernkit.playground.story.members.service import (
    add_member,
    change_member,
    hand_over,
    remove_member,
    reorder_members,
)


class InvitationCode(StrictModel):
    """The code of an invitation to a space."""

    code: str = Field(max_length=100)


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


@router.put("/spaces/{space_id}/owner", responses=documented(409))
async def change_owner(caller: ApiCaller, space_id: UUID, body: NewOwner) -> SpaceOut:
    """Hand a space over to another person in it; who owned it before stays as a moderator."""
    return SpaceOut.of_row(await hand_over(*caller, space_id, **dict(body)))


@router.get("/spaces/{space_id}/invitations", responses=documented())
async def show_invitations(caller: ApiCaller, space_id: UUID) -> list[SpaceInvitationOut]:
    """The invitations to a space that can still be used, the newest first."""
    return [SpaceInvitationOut.of_row(row) for row in await open_invitations(*caller, space_id)]


@router.post("/spaces/{space_id}/invitations", status_code=201, responses=documented(409))
async def invite(caller: ApiCaller, space_id: UUID, body: SpaceInvitationIn) -> NewSpaceInvitationOut:
    """Make a link with which people who have an account join a discussion."""
    made = await invite_to_space(*caller, space_id, **dict(body))
    return NewSpaceInvitationOut.of_row(made.row, code=made.code, address=made.address)


@router.delete("/space_invitations/{space_invitation_id}", status_code=204, responses=documented())
async def end_invitation(caller: ApiCaller, space_invitation_id: UUID) -> None:
    """Revoke an invitation. Who has joined with it stays."""
    await revoke_space_invitation(*caller, space_invitation_id)


@router.post("/space_invitations/accept", responses=documented(409))
async def accept(caller: ApiCaller, body: InvitationCode) -> MemberOut:
    """Join the space that an invitation leads to."""
    return MemberOut.of(await accept_invitation(*caller, body.code))


@router.get("/members/{member_id}", responses=documented())
async def show(caller: ApiCaller, member_id: UUID) -> MemberOut:
    """One member."""
    return MemberOut.of(await read_member(*caller, member_id))


@router.patch("/members/{member_id}", responses=documented(409))
async def change(caller: ApiCaller, member_id: UUID, body: MemberChange) -> MemberOut:
    """Change how a member takes part: the owner all, moderators whether a member is muted, people what is their own."""
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
