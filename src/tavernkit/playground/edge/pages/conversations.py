"""The chat page and its events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from pydantic import StringConstraints

from tavernkit.playground.base.realtime.bus import owner_topic, space_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.live.streaming import conversation_stream, merged_streams, message_stream, run_stream
from tavernkit.playground.edge.live.watching import access_check, readable_conversation
from tavernkit.playground.edge.presenting.conversations import conversation_view, older_view
from tavernkit.playground.edge.presenting.messages import find_permissions, permissions_of
from tavernkit.playground.edge.web.authentication import proof_of
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import PageCaller, answer, missing
from tavernkit.playground.story.conversations.service import restore_conversation
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.replies.actions import retry
from tavernkit.playground.story.runs.round_control import skip_turn

router = APIRouter()

MOST_WATCHED = 32
"""How many conversations one stream carries at most; the page knows the same number."""

Number = Annotated[int, Query(ge=0, le=2**63 - 1)]
WatchedText = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:[0-9]{1,18})?$")]
Watched = Annotated[list[WatchedText], Query(min_length=1, max_length=MOST_WATCHED)]


@router.get("/conversations/{conversation_id}")
async def show(caller: PageCaller, conversation_id: UUID, undo: UUID | None = None) -> HTMLResponse:
    view = await conversation_view(caller.runtime, conversation_id, caller.viewer, undo=undo)
    # The page tells where the stream goes on; a copy from the cache would tell an old place.
    return HTMLResponse(str(render("conversation.html", view=view)), headers={"Cache-Control": "no-store"})


@router.get("/conversations/{conversation_id}/older")
async def older(caller: PageCaller, conversation_id: UUID, before: Number) -> HTMLResponse:
    view = await older_view(caller.runtime, conversation_id, caller.viewer, before=before)
    return HTMLResponse(str(render("_older.html", older=view)))


@router.post("/conversations/{conversation_id}/messages")
async def send(
    request: Request,
    caller: PageCaller,
    conversation_id: UUID,
    content: Annotated[str, Form()],
    id: Annotated[UUID | None, Form()] = None,
) -> Response:
    sent = await send_message(*caller, conversation_id, message_id=id or caller.runtime.ids(), content=content)
    async with caller.runtime.database.read() as session:
        permissions = await find_permissions(session, conversation_id, caller.viewer)
        streams = await message_stream(session, sent.id, permissions) + await run_stream(
            caller.runtime, session, conversation_id
        )
    return answer(request, streams, otherwise=f"/conversations/{conversation_id}")


@router.post("/conversations/{conversation_id}/retry")
async def retry_reply(request: Request, caller: PageCaller, conversation_id: UUID) -> Response:
    await retry(*caller, conversation_id)
    async with caller.runtime.database.read() as session:
        streams = await run_stream(caller.runtime, session, conversation_id)
    return answer(request, streams, otherwise=f"/conversations/{conversation_id}")


@router.post("/conversations/{conversation_id}/skip")
async def skip(request: Request, caller: PageCaller, conversation_id: UUID) -> Response:
    await skip_turn(*caller, conversation_id)
    async with caller.runtime.database.read() as session:
        streams = await run_stream(caller.runtime, session, conversation_id)
    return answer(request, streams, otherwise=f"/conversations/{conversation_id}")


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
async def events(request: Request, caller: PageCaller, watch: Watched) -> StreamingResponse:
    """Server-sent events of several conversations, each named with the last event that its page has seen, or without
    one for all that happens from now on: `streams` (numbered, Turbo streams to render), `text` (a reply as it is
    written), `copilot` (what is written for this person only), and `closed` (this person may not read it)."""
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
            may_read=access_check(*caller, proof_of(request), request.app.state.owner_id, conversation_id),
        )
    if not streams:
        raise missing()
    return StreamingResponse(
        merged_streams(caller.runtime, streams, refused),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _conversation_and_number(watched: str) -> tuple[UUID, int | None]:
    conversation_id, _, number = watched.partition(":")
    return UUID(conversation_id), int(number) if number else None
