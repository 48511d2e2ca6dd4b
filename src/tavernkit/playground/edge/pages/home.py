"""The first page, the page of a new story, and what the palette finds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_time
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.presenting.folded_stories import branches_view, stories_view
from tavernkit.playground.edge.presenting.home import HomeQuery, archive_view, home_view, new_story_view, places
from tavernkit.playground.edge.web.forms import Flag, fresh_page
from tavernkit.playground.edge.web.requests import PageCaller
from tavernkit.playground.story.access.documents import MAX_CHARACTERS, MAX_NAME, SpaceKind
from tavernkit.playground.story.spaces.marks import pin_space, tag_space
from tavernkit.playground.story.spaces.queries import SpaceSort
from tavernkit.playground.story.spaces.service import create_space, start_story

router = APIRouter()


After = Annotated[str | None, Query(max_length=2000)]


@router.get("/")
async def home(
    caller: PageCaller,
    search: Annotated[str, Query(max_length=200)] = "",
    tag: Annotated[str, Query(max_length=200)] = "",
    character_id: UUID | Literal[""] = "",
    pinned: bool = False,
    unread: bool = False,
    sort: SpaceSort = "recent",
    after: After = None,
) -> Response:
    """The stories in use, as many as the filters find."""
    query = HomeQuery(
        search=storable(search).strip(),
        tag=storable(tag).strip(),
        character_id=character_id or None,
        pinned=pinned or None,
        unread=unread,
        sort=sort,
    )
    try:
        view = await home_view(*caller, query, after=after or None)
    except Refused:
        raise _no_such_page() from None
    return fresh_page("home.html", view=view)


@router.get("/spaces/{space_id}/stories")
async def stories(caller: PageCaller, space_id: UUID, after: After = None) -> Response:
    """What is folded beneath a story on the first page: its conversations."""
    return fresh_page("_folded_stories.html", view=await stories_view(*caller, space_id, after=after))


@router.get("/conversations/{conversation_id}/branches")
async def branches(caller: PageCaller, conversation_id: UUID, after: After = None) -> Response:
    """What is folded beneath a conversation there: its branches."""
    return fresh_page("_folded_stories.html", view=await branches_view(*caller, conversation_id, after=after))


Back = Annotated[str, Form(max_length=2000)]


@router.post("/spaces/{space_id}/pin")
async def pin(caller: PageCaller, space_id: UUID, pinned: Flag, back: Back = "") -> Response:
    """Pin a story, or unpin it, and go back to the list: `back` is what was asked for there."""
    await pin_space(*caller, space_id, pinned=pinned)
    return RedirectResponse(f"/?{back}" if back else "/", status_code=303)


@router.post("/spaces/{space_id}/tags")
async def change_tags(
    caller: PageCaller, space_id: UUID, tags: Annotated[str, Form(max_length=50_000)] = "", back: Back = ""
) -> Response:
    await tag_space(*caller, space_id, tags.split(","))
    return RedirectResponse(f"/?{back}" if back else "/", status_code=303)


@router.get("/archive")
async def archive(caller: PageCaller, after: After = None) -> Response:
    view = await archive_view(*caller, after=_place(after))
    return fresh_page("archive.html", view=view)


ChosenPersona: TypeAlias = UUID | Literal["auto", ""]


@router.get("/spaces/new")
async def new_story(
    caller: PageCaller,
    character_id: Annotated[Sequence[UUID], Query(max_length=MAX_CHARACTERS)] = (),
    persona_id: Annotated[ChosenPersona | None, Query()] = None,
    name: Annotated[str, Query(max_length=MAX_NAME)] = "",
    kind: SpaceKind = "playground",
    search: Annotated[str, Query(max_length=200)] = "",
    after: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    """The form; a search brings along what is chosen and typed so far."""
    view = await new_story_view(
        *caller,
        character_ids=character_id,
        persona_id="default" if persona_id is None else _persona(persona_id),
        name=name,
        kind=kind,
        search=search.strip(),
        after=after or None,
    )
    return fresh_page("new_story.html", view=view)


@router.post("/spaces/new")
async def begin_story(
    caller: PageCaller,
    character_id: Annotated[Sequence[UUID], Form(max_length=MAX_CHARACTERS)] = (),
    persona_id: Annotated[ChosenPersona, Form()] = "",
    name: Annotated[str, Form(max_length=MAX_NAME)] = "",
    kind: Annotated[SpaceKind, Form()] = "playground",
) -> Response:
    chosen = _persona(persona_id)
    try:
        if not character_id:
            raise Refused("invalid", _("Choose at least one character."))
        made = await create_space(*caller, kind=kind, name=name, character_ids=character_id, persona_id=chosen)
    except Refused as refused:
        view = await new_story_view(
            *caller, character_ids=character_id, persona_id=chosen, name=name, kind=kind, error=refused.sentence
        )
        return fresh_page("new_story.html", refused, view=view)
    return RedirectResponse(f"/conversations/{made.conversation.id}", status_code=303)


@router.post("/spaces")
async def begin_story_at_once(caller: PageCaller, character_id: Annotated[UUID, Form()]) -> Response:
    """A story with one character, as whoever took part the last time."""
    async with caller.runtime.database.read() as session:
        user = await session.get_one(User, caller.viewer.user_id)
    started = await start_story(caller.runtime, user, character_id)
    return RedirectResponse(f"/conversations/{started.id}", status_code=303)


@router.get("/palette.json")
async def palette(
    response: Response, caller: PageCaller, q: Annotated[str, Query(max_length=1000)] = ""
) -> dict[str, list[dict[str, str]]]:
    """Where the palette leads."""
    response.headers["Cache-Control"] = "no-store"
    return {"places": await places(*caller, q)}


def _persona(chosen: ChosenPersona) -> UUID | Literal["auto"] | None:
    """Which persona a form names: one, the one that fits, or none."""
    return None if chosen == "" else chosen


def _place(after: str | None) -> tuple[datetime, UUID] | None:
    try:
        return behind_time(after)
    except Refused:
        raise _no_such_page() from None


def _no_such_page() -> Refused:
    return Refused("invalid", _("This page of the list does not exist. Open the first page."))
