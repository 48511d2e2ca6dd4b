"""The page that a link with an invitation to a space leads to."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.edge.presenting.spaces import INVITED_ROLES
from tavernkit.playground.edge.web.forms import fresh_page
from tavernkit.playground.edge.web.requests import PageCaller
from tavernkit.playground.story.members.invitations import accept_invitation, read_invitation

router = APIRouter(prefix="/join")

Code = Annotated[str, Path(max_length=100)]


@router.get("/{code}")
async def invitation(caller: PageCaller, code: Code) -> Response:
    """Who invites, and where to; who is there already goes there."""
    invited, is_member = await read_invitation(*caller, code)
    if is_member:
        return RedirectResponse(f"/spaces/{invited.space.id}", status_code=303)
    role = INVITED_ROLES[invited.invitation.role]
    return fresh_page("join.html", invited=invited, role=role, code=code)


@router.post("/{code}")
async def join(caller: PageCaller, code: Code) -> Response:
    member = await accept_invitation(*caller, code)
    return RedirectResponse(f"/spaces/{member.space_id}", status_code=303)
