"""The chat page and its events, and the page with the tree of conversations."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from pydantic import StringConstraints

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import owner_topic, space_topic
from tavernkit.playground.base.realtime.presence import Person
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.live.streaming import (
    access_check,
    conversation_stream,
    merged_streams,
    message_stream,
    readable_conversation,
)
from tavernkit.playground.edge.pages.runs import run_answer
from tavernkit.playground.edge.presenting.conversation_tree import tree_branches_view, tree_view
from tavernkit.playground.edge.presenting.conversations import conversation_view, newer_view, older_view
from tavernkit.playground.edge.presenting.folded_stories import name_view
from tavernkit.playground.edge.presenting.imports import origins_view
from tavernkit.playground.edge.presenting.messages import find_permissions, is_among_people, permissions_of
from tavernkit.playground.edge.presenting.spaces import public_view
from tavernkit.playground.edge.web.authentication import proof_of
from tavernkit.playground.edge.web.forms import Text, Version, fresh_page, page, understood
from tavernkit.playground.edge.web.requests import Caller, PageCaller, missing
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.conversations.documents import ConversationChange
from tavernkit.playground.story.conversations.queries import read_conversation
from tavernkit.playground.story.conversations.service import (
    change_conversation,
    delete_conversation,
    restore_conversation,
)
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.paths.pictures import PictureIn
from tavernkit.playground.story.runs.speakers import may_speak

router = APIRouter()

MOST_WATCHED = 32
"""How many conversations one stream carries at most; the page knows the same number."""

Number = Annotated[int, Query(ge=0, le=2**63 - 1)]
WatchedText = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:[0-9]{1,18})?$")]
Watched = Annotated[list[WatchedText], Query(min_length=1, max_length=MOST_WATCHED)]


@router.get("/public")
async def public(caller: PageCaller, after: Annotated[str | None, Query(max_length=2000)] = None) -> Response:
    """The conversations that everybody with an account may read."""
    return fresh_page("public.html", view=await public_view(caller.runtime, after=after))


@router.get("/conversations/{conversation_id}")
async def show(
    caller: PageCaller, conversation_id: UUID, undo: UUID | None = None, message: UUID | None = None
) -> HTMLResponse:
    """The chat, with its newest messages; with `message`, also that one and what is around it."""
    view = await conversation_view(caller.runtime, conversation_id, caller.viewer, undo=undo, message_id=message)
    return fresh_page("conversation.html", view=view)


@router.get("/conversations/{conversation_id}/older")
async def older(caller: PageCaller, conversation_id: UUID, before: Number) -> HTMLResponse:
    view = await older_view(caller.runtime, conversation_id, caller.viewer, before=before)
    return page("_older.html", older=view)


@router.get("/conversations/{conversation_id}/newer")
async def newer(caller: PageCaller, conversation_id: UUID, after: Number, before: Number) -> HTMLResponse:
    view = await newer_view(caller.runtime, conversation_id, caller.viewer, after=after, before=before)
    return page("_newer.html", newer=view)


@router.post("/conversations/{conversation_id}/messages")
async def send(
    caller: PageCaller,
    conversation_id: UUID,
    content: Text = "",
    id: Annotated[UUID | None, Form()] = None,
    picture: Annotated[tuple[UUID, ...], Form()] = (),
) -> Response:
    message_id, pictures = id or caller.runtime.ids(), [PictureIn(id=one) for one in picture]
    sent = await send_message(*caller, conversation_id, message_id=message_id, content=content, pictures=pictures)
    async with caller.runtime.database.read() as session:
        permissions = await find_permissions(session, conversation_id, caller.viewer)
        first = await message_stream(session, sent.id, permissions)
    return await run_answer(caller, conversation_id, first)


@router.post("/conversations/{conversation_id}/restore")
async def restore(
    caller: PageCaller,
    conversation_id: UUID,
    next: Annotated[Literal["archive", "conversation"], Form()] = "conversation",
) -> Response:
    """Bring an archived story back, and go on in it or to the others."""
    await restore_conversation(*caller, conversation_id)
    address = "/archive" if next == "archive" else f"/conversations/{conversation_id}"
    return RedirectResponse(address, status_code=303)


@router.get("/events")
async def events(caller: PageCaller, watch: Watched) -> StreamingResponse:
    """Server-sent events of several conversations, each named with the last event that its page has seen, or without
    one for all that happens from now on: `streams` (numbered, Turbo streams to render), `text` (a reply as it is
    written), `copilot` (what is written for this person only), `presence` and `typing` (who else is there, for members
    of a discussion), and `closed` (this person may not read it)."""
    streams: dict[UUID, AsyncGenerator[str, None]] = {}
    refused: list[UUID] = []
    for conversation_id, after in map(_conversation_and_number, watch):
        try:
            conversation, entry = await readable_conversation(*caller, conversation_id)
        except Refused:
            refused.append(conversation_id)
            continue
        streams[conversation_id] = conversation_stream(
            caller.runtime,
            conversation_id,
            conversation.last_event if after is None else after,
            user_id=caller.viewer.user_id,
            around=(space_topic(entry.space.id), owner_topic(entry.space.owner_id)),
            permissions=permissions_of(conversation, entry),
            person=_person(entry),
            find_permissions=access_check(
                *caller, proof_of(caller.request), caller.request.app.state.owner_id, conversation_id
            ),
        )
    if not streams:
        raise missing()
    return StreamingResponse(
        merged_streams(caller.runtime, streams, refused),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


@router.post("/conversations/{conversation_id}/typing", status_code=204)
async def typing(caller: PageCaller, conversation_id: UUID) -> None:
    """Tell the others who are there that somebody is typing. Nothing of it is stored."""
    async with caller.runtime.database.read() as session:
        _conversation, access = await conversation_for(session, conversation_id, caller.viewer, Access.TAKE_PART)
    if not may_speak(access.member):
        raise Refused("forbidden", _("You can read this, but not change it."))
    if (person := _person(access)) is not None:
        await caller.runtime.presence.type(conversation_id, person)


def _person(access: SpaceAccess) -> Person | None:
    """Somebody whom other people in the space are told about."""
    member = access.member
    if member is None or not is_among_people(access):
        return None
    return Person(member_id=str(member.id), name=member.cached_display_name)


def _conversation_and_number(watched: str) -> tuple[UUID, int | None]:
    conversation_id, _colon, number = watched.partition(":")
    return UUID(conversation_id), int(number) if number else None


tree_router = APIRouter(prefix="/conversations/{conversation_id}")

Here = Annotated[UUID | None, Form()]


@tree_router.get("/tree")
async def tree(
    caller: PageCaller, conversation_id: UUID, search: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    view = await tree_view(*caller, conversation_id, search=storable(search).strip())
    return fresh_page("tree.html", view=view, origins=await origins_view(*caller, "conversation", conversation_id))


@tree_router.get("/tree/{node_id}")
async def tree_branches(
    caller: PageCaller, conversation_id: UUID, node_id: UUID, after: UUID | None = None
) -> Response:
    """What is beneath a conversation in the tree that another one is looked at in."""
    view = await tree_branches_view(*caller, conversation_id, node_id, after=after)
    return fresh_page("_tree_branches.html", branches=view)


@tree_router.get("/name")
async def name(caller: PageCaller, conversation_id: UUID, edit: bool = False) -> Response:
    """The name of a conversation in its frame, or the form in which it is changed."""
    return fresh_page("name.html", view=await name_view(*caller, conversation_id, is_edited=edit))


@tree_router.post("/name")
async def rename(
    caller: PageCaller,
    conversation_id: UUID,
    settings_version: Version,
    title: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Give a conversation another title; a branch without one is named after where it leaves."""
    try:
        change = understood(ConversationChange, settings_version=settings_version, title=title)
        await change_conversation(*caller, conversation_id, **dict(change))
    except Refused as refused:
        if refused.code == "not_found":
            raise
        view = await name_view(*caller, conversation_id, is_edited=True, typed=title, problem=refused.sentence)
        return fresh_page("name.html", refused, view=view)
    return RedirectResponse(f"/conversations/{conversation_id}/name", status_code=303)


@tree_router.post("/delete")
async def delete(caller: PageCaller, conversation_id: UUID, here: Here = None) -> Response:
    """Delete a conversation, and go back to the tree that it was in, if there is one left."""
    row = await read_conversation(*caller, conversation_id)
    try:
        await delete_conversation(*caller, conversation_id)
    except Refused as refused:
        return await _refused(caller, here or conversation_id, conversation_id, refused)
    left = here if here != conversation_id else row.parent_conversation_id
    address = f"/spaces/{row.space_id}" if left is None else f"/conversations/{left}/tree"
    return await back_from_deleting(caller.runtime, "conversation", conversation_id, address)


async def _refused(caller: Caller, shown: UUID, conversation_id: UUID, refused: Refused) -> Response:
    """The tree with the sentence beside the conversation that it is about."""
    if refused.code == "not_found":
        raise refused
    view = await tree_view(*caller, shown, problem=refused.sentence, problem_id=conversation_id)
    origins = await origins_view(*caller, "conversation", shown)
    return fresh_page("tree.html", refused, view=view, origins=origins)
