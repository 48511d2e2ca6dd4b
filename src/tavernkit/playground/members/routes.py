"""The tab of the side panel that shows who is in a space."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.members.presenting import members_view
from tavernkit.playground.members.queries import active_members
from tavernkit.playground.members.schemas import MemberChange
from tavernkit.playground.members.service import add_member, change_member, remove_member, reorder_members
from tavernkit.playground.outcome import Refused
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.spaces.access import Access, member_for
from tavernkit.playground.spaces.panel import panel_answer, panel_entry, panel_page, panel_refusal
from tavernkit.playground.web.forms import Version, understood, whole_number
from tavernkit.playground.web.requests import Looking, Played

__all__ = ["router"]

router = APIRouter(prefix="/conversations/{conversation_id}/panel/members")

CHANGEABLE = frozenset({"participation", "talkativeness", "persona_id", "provider_id", "preset_id"})


@router.get("")
async def members(
    request: Request,
    runtime: Played,
    viewer: Looking,
    conversation_id: UUID,
    search: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    view = await members_view(runtime, viewer, conversation_id, search=search)
    return panel_refusal(request, view) if isinstance(view, Refused) else panel_page(request, "members", view)


@router.post("")
async def add(
    request: Request,
    runtime: Played,
    viewer: Looking,
    conversation_id: UUID,
    character_id: Annotated[UUID | None, Form()] = None,
    user_id: Annotated[UUID | None, Form()] = None,
    search: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Somebody joins, or comes back."""
    async with runtime.database.read() as session:
        found = await panel_entry(session, viewer, conversation_id)
    outcome: object = found
    if not isinstance(found, Refused):
        space_id = found[1].space.id
        outcome = await add_member(runtime, viewer, space_id, character_id=character_id, user_id=user_id)
    return await _answer(request, runtime, viewer, conversation_id, outcome, search=search)


@router.post("/{member_id}")
async def change(
    request: Request,
    runtime: Played,
    viewer: Looking,
    conversation_id: UUID,
    member_id: UUID,
    settings_version: Version,
) -> Response:
    """Change what the form names; an empty field takes a choice back."""
    # Read by hand: FastAPI takes an empty field for one that is not there.
    form = await request.form()
    given = {name: value for name, value in form.items() if isinstance(value, str) and name in CHANGEABLE}
    changes: dict[str, Any] = {name: value or None for name, value in given.items()}
    share = changes.get("talkativeness")
    number = None if share is None else whole_number(share, name="Talkativeness", least=0, most=100)
    if isinstance(number, int):
        changes["talkativeness"] = number / 100
    checked = number if isinstance(number, Refused) else understood(MemberChange, settings_version=0, **changes)
    outcome: object = checked
    if not isinstance(checked, Refused):
        outcome = await change_member(
            runtime,
            viewer,
            member_id,
            settings_version=settings_version,
            changes=checked.model_dump(include=set(changes)),
        )
    return await _answer(request, runtime, viewer, conversation_id, outcome)


@router.post("/{member_id}/remove")
async def remove(
    request: Request, runtime: Played, viewer: Looking, conversation_id: UUID, member_id: UUID
) -> Response:
    outcome = await remove_member(runtime, viewer, member_id)
    return await _answer(request, runtime, viewer, conversation_id, outcome)


@router.post("/{member_id}/move")
async def move(
    request: Request,
    runtime: Played,
    viewer: Looking,
    conversation_id: UUID,
    member_id: UUID,
    settings_version: Version,
    direction: Annotated[Literal["up", "down"], Form()],
) -> Response:
    """Change places with whoever is before or behind; `settings_version` is the space's."""
    async with runtime.database.read() as session:
        found = await member_for(session, member_id, viewer, Access.READ)
        ids = [] if isinstance(found, Refused) else [row.id for row in await active_members(session, found[0].space_id)]
    outcome: object = found
    if not isinstance(found, Refused):
        outcome = await reorder_members(
            runtime,
            viewer,
            found[0].space_id,
            settings_version=settings_version,
            member_ids=_moved(ids, member_id, -1 if direction == "up" else 1),
        )
    return await _answer(request, runtime, viewer, conversation_id, outcome)


def _moved(ids: list[UUID], member_id: UUID, by: int) -> list[UUID]:
    """The ids with one of them moved; one that cannot be moved any further stays."""
    place = ids.index(member_id) if member_id in ids else -1
    other = place + by
    if place >= 0 and 0 <= other < len(ids):
        ids[place], ids[other] = ids[other], ids[place]
    return ids


async def _answer(
    request: Request, runtime: Runtime, viewer: Viewer, conversation_id: UUID, outcome: object, *, search: str = ""
) -> Response:
    refused = outcome if isinstance(outcome, Refused) else None
    if refused is not None and refused.code == "not_found":
        return panel_refusal(request, refused)
    problem = refused.sentence if refused else ""
    view = await members_view(runtime, viewer, conversation_id, search=search, problem=problem)
    if isinstance(view, Refused):
        # Who has just left sees no more of the space.
        return panel_refusal(request, refused) if refused else RedirectResponse("/", status_code=303)
    return panel_answer(
        request, "members", view, otherwise=f"/conversations/{conversation_id}/panel/members", refused=refused
    )
