"""Stopping a reply, and deciding about one that was cut short."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request, Response

from tavernkit.playground.edge.live.streaming import message_stream, run_stream
from tavernkit.playground.edge.presenting.messages import find_permissions
from tavernkit.playground.edge.web.requests import PageCaller, answer
from tavernkit.playground.story.replies.actions import discard_text, keep_text, request_stop
from tavernkit.playground.story.runs.queries import read_run

router = APIRouter(prefix="/runs/{run_id}")


@router.post("/stop")
async def stop(request: Request, caller: PageCaller, run_id: UUID) -> Response:
    run = await request_stop(*caller, run_id)
    async with caller.runtime.database.read() as session:
        streams = await run_stream(caller.runtime, session, run.conversation_id)
    return answer(request, streams, otherwise=f"/conversations/{run.conversation_id}")


@router.post("/keep")
async def keep(request: Request, caller: PageCaller, run_id: UUID) -> Response:
    message = await keep_text(*caller, run_id)
    async with caller.runtime.database.read() as session:
        permissions = await find_permissions(session, message.conversation_id, caller.viewer)
        streams = await message_stream(session, message.id, permissions)
        streams += await run_stream(caller.runtime, session, message.conversation_id)
    return answer(request, streams, otherwise=f"/conversations/{message.conversation_id}")


@router.post("/discard")
async def discard(request: Request, caller: PageCaller, run_id: UUID) -> Response:
    run = await discard_text(*caller, run_id)
    async with caller.runtime.database.read() as session:
        streams = await run_stream(caller.runtime, session, run.conversation_id)
    return answer(request, streams, otherwise=f"/conversations/{run.conversation_id}")


@router.get("/text")
async def text(caller: PageCaller, run_id: UUID) -> dict[str, str]:
    """What has been written so far, for a page that missed a piece."""
    run = await read_run(*caller, run_id)
    is_behind = run.status == "running" and run.replied_at is not None
    return {"text": caller.runtime.live_text.get(run.id, run.text), "status": "behind" if is_behind else run.status}
