"""The tab of the side panel that shows who is in a space."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_access, panel_answer, panel_page
from tavernkit.playground.edge.presenting.spaces import members_view
from tavernkit.playground.edge.web.forms import Direction, Text, Version, refusal_of, understood, whole_number
from tavernkit.playground.edge.web.requests import PageCaller, Visitor, wants_streams
from tavernkit.playground.story.access.access import Access, active_members, member_for
from tavernkit.playground.story.access.documents import LONGEST_INVITATION, MAX_HUMANS, InvitedRole, MemberChange
from tavernkit.playground.story.conversations.documents import ConversationChange
from tavernkit.playground.story.conversations.service import change_conversation
from tavernkit.playground.story.members.invitations import invite_to_space, revoke_space_invitation
from tavernkit.playground.story.members.service import (
    add_member,
    change_member,
    hand_over,
    remove_member,
    reorder_members,
)
from tavernkit.playground.story.personas.connections import lock_conversation_to

router = APIRouter(prefix="/conversations/{conversation_id}/panel/members", dependencies=IN_PANEL)

CHANGEABLE = frozenset(
    {"participation", "talkativeness", "name_override", "persona", "persona_id", "provider_id", "preset_id"}
)


@router.get("")
async def members(
    caller: PageCaller, conversation_id: UUID, search: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    view = await members_view(*caller, conversation_id, search=search)
    return panel_page(caller.request, "members", view)


@router.post("")
async def add(
    caller: PageCaller,
    conversation_id: UUID,
    character_id: Annotated[UUID | None, Form()] = None,
    user_id: Annotated[UUID | None, Form()] = None,
    search: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Somebody joins, or comes back."""
    _conversation, access = await caller.read(panel_access, conversation_id)
    joining = add_member(*caller, access.space.id, character_id=character_id, user_id=user_id)
    return await _answer(caller, conversation_id, joining, search=search)


@router.post("/persona")
async def lock_persona(
    caller: PageCaller, conversation_id: UUID, persona_id: Annotated[UUID | Literal[""], Form()] = ""
) -> Response:
    """Be one of one's personas in this conversation alone."""
    locking = lock_conversation_to(*caller, conversation_id, persona_id or None)
    return await _answer(caller, conversation_id, locking)


@router.post("/visibility")
async def change_visibility(
    caller: PageCaller, conversation_id: UUID, settings_version: Version, visibility: Text
) -> Response:
    """Choose who may read the conversation."""

    async def save() -> None:
        change = understood(ConversationChange, settings_version=settings_version, visibility=visibility)
        await change_conversation(*caller, conversation_id, **dict(change))

    return await _answer(caller, conversation_id, save())


@router.post("/invitations")
async def invite(
    caller: PageCaller,
    conversation_id: UUID,
    role: Annotated[InvitedRole, Form()] = "member",
    max_uses: Text = "1",
    days: Text = "7",
) -> Response:
    """Make a link with which people join; it is shown once."""
    _conversation, access = await caller.read(panel_access, conversation_id)
    made: list[str] = []

    async def save() -> None:
        uses = whole_number(max_uses, name=_("People"), least=1, most=MAX_HUMANS)
        valid = whole_number(days, name=_("Days"), least=1, most=LONGEST_INVITATION)
        invitation = await invite_to_space(*caller, access.space.id, role=role, max_uses=uses, days=valid)
        made.append(str(caller.request.base_url).rstrip("/") + invitation.address)

    return await _answer(caller, conversation_id, save(), link=made)


@router.post("/invitations/{space_invitation_id}/revoke")
async def revoke(caller: PageCaller, conversation_id: UUID, space_invitation_id: UUID) -> Response:
    return await _answer(caller, conversation_id, revoke_space_invitation(*caller, space_invitation_id))


@router.post("/{member_id}/owner")
async def make_owner(caller: PageCaller, conversation_id: UUID, member_id: UUID, settings_version: Version) -> Response:
    """Hand the space over; `settings_version` is the space's."""
    _conversation, access = await caller.read(panel_access, conversation_id)
    handing = hand_over(*caller, access.space.id, settings_version=settings_version, member_id=member_id)
    return await _answer(caller, conversation_id, handing)


@router.post("/{member_id}")
async def change(caller: PageCaller, conversation_id: UUID, member_id: UUID, settings_version: Version) -> Response:
    """Change what the form names; an empty field takes a choice back."""
    # Read by hand: FastAPI takes an empty field for one that is not there.
    form = await caller.request.form()
    given = {name: value for name, value in form.items() if isinstance(value, str) and name in CHANGEABLE}
    changes: dict[str, Any] = {name: value or None for name, value in given.items()}
    role, before = form.get("role"), form.get("role_was")
    if isinstance(role, str) and role != before:
        changes |= _role_changes(role, before)

    async def save() -> None:
        share = changes.get("talkativeness")
        if share is not None:
            changes["talkativeness"] = whole_number(share, name=_("Talkativeness"), least=0, most=100) / 100
        checked = understood(MemberChange, settings_version=0, **changes).model_dump(include=set(changes))
        await change_member(*caller, member_id, settings_version=settings_version, changes=checked)

    return await _answer(caller, conversation_id, save())


@router.post("/{member_id}/remove")
async def remove(caller: PageCaller, conversation_id: UUID, member_id: UUID) -> Response:
    return await _answer(caller, conversation_id, remove_member(*caller, member_id))


@router.post("/{member_id}/move")
async def move(
    caller: PageCaller, conversation_id: UUID, member_id: UUID, settings_version: Version, direction: Direction
) -> Response:
    """Change places with whoever is before or behind; `settings_version` is the space's."""
    async with caller.runtime.database.read() as session:
        member, _access = await member_for(session, member_id, caller.viewer, Access.READ)
        ids = [row.id for row in await active_members(session, member.space_id)]
    moved = _moved(ids, member_id, -1 if direction == "up" else 1)
    moving = reorder_members(*caller, member.space_id, settings_version=settings_version, member_ids=moved)
    return await _answer(caller, conversation_id, moving)


def _role_changes(role: str, before: object) -> dict[str, str]:
    """The page has one list of roles, on which observers are one; a muted member stays muted in another role."""
    if role == "observer":
        return {"role": "member", "participation": "observer"}
    return {"role": role, **({"participation": "active"} if before == "observer" else {})}


def _moved(ids: list[UUID], member_id: UUID, by: int) -> list[UUID]:
    """The ids with one of them moved; one that cannot be moved any further stays."""
    place = ids.index(member_id) if member_id in ids else -1
    other = place + by
    if place >= 0 and 0 <= other < len(ids):
        ids[place], ids[other] = ids[other], ids[place]
    return ids


async def _answer(
    caller: Visitor, conversation_id: UUID, action: Awaitable[object], *, search: str = "", link: Sequence[str] = ()
) -> Response:
    """Do it, and show the tab as it is then, with the sentence about what was refused, or the link that was made."""
    refused = await refusal_of(action)
    problem = refused.sentence if refused else ""
    try:
        view = await members_view(*caller, conversation_id, search=search, problem=problem, link="".join(link))
    except Refused:
        if refused is not None:
            raise refused from None
        # Who has just left sees no more of the space.
        return RedirectResponse("/", status_code=303)
    if link and not wants_streams(caller.request):
        # Without scripts, a redirect would lose the link.
        return panel_page(caller.request, "members", view)
    return panel_answer(
        caller.request, "members", view, otherwise=f"/conversations/{conversation_id}/panel/members", refused=refused
    )
