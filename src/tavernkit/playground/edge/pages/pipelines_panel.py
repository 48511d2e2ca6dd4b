"""The tab of the side panel that says what is followed in a conversation, and changes it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Response

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import panel_access, panel_answer, panel_page
from tavernkit.playground.edge.presenting.pipelines import pipelines_panel_view
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.story.pipelines.choosing import choose_profile, forget_choice
from tavernkit.playground.story.pipelines.documents import Choose, ProfilePlace
from tavernkit.playground.story.pipelines.queries import WIDER, PlaceKind, profiles_by_id

router = APIRouter(prefix="/conversations/{conversation_id}/panel/pipelines")


@router.get("")
async def pipelines(caller: PageCaller, conversation_id: UUID) -> Response:
    return panel_page(caller.request, "pipelines", await pipelines_panel_view(*caller, conversation_id))


@router.post("")
async def choose(
    caller: PageCaller,
    conversation_id: UUID,
    profile: Annotated[UUID | Literal["wider", "none"], Form()],
    place: Annotated[PlaceKind, Form()] = "conversation",
    character_id: Annotated[UUID | Literal[""], Form()] = "",
) -> Response:
    """Choose for this conversation, or for a place around it."""
    _conversation, access = await caller.read(panel_access, conversation_id)
    problem, refused = "", None
    try:
        where = _where(place, conversation_id, access.space.id, character_id or None)
        await _choose(caller, where, profile)
    except Refused as error:
        problem, refused = await _sentence(caller.runtime, profile, error), error
    at = f"character_{character_id}" if place == "character" else place
    view = await pipelines_panel_view(*caller, conversation_id, problem=problem, at=at)
    return panel_answer(caller.request, "pipelines", view, otherwise=view.panel.address, refused=refused)


def _where(place: PlaceKind, conversation_id: UUID, space_id: UUID, character_id: UUID | None) -> ProfilePlace:
    match place:
        case "conversation":
            return ProfilePlace(conversation_id=conversation_id)
        case "character" if character_id is None:
            raise Refused("invalid", _("Choose a character."))
        case "character":
            return ProfilePlace(character_id=character_id)
        case "space":
            return ProfilePlace(space_id=space_id)
        case "everywhere":
            return ProfilePlace()


async def _choose(caller: Caller, where: ProfilePlace, profile: UUID | str) -> None:
    if profile == WIDER:
        await forget_choice(*caller, where)
    else:
        profile_id = profile if isinstance(profile, UUID) else None
        await choose_profile(*caller, Choose(profile_id=profile_id, **where.named()))


async def _sentence(runtime: Runtime, profile: UUID | str, refused: Refused) -> str:
    if refused.code != "conflict" or not isinstance(profile, UUID):
        return refused.sentence
    async with runtime.database.read() as session:
        found = await profiles_by_id(session, [profile])
    name = shown_name(found[profile].name)
    return _("The profile “{name}” was not chosen. {reason}", name=name, reason=refused.sentence)
