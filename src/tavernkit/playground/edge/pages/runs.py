"""Runs: stopping one, deciding about one that was cut short, and the tab with the newest."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response
from markupsafe import Markup

from tavernkit.playground.edge.live.streaming import message_stream, run_stream
from tavernkit.playground.edge.presenting.messages import find_permissions, written_html
from tavernkit.playground.edge.presenting.panel import panel_page
from tavernkit.playground.edge.presenting.run_records import runs_view
from tavernkit.playground.edge.web.requests import PageCaller, Visitor, answer
from tavernkit.playground.story.replies.actions import discard_text, keep_text, request_stop
from tavernkit.playground.story.runs.queries import read_run

router = APIRouter()

_NOTHING = Markup()


async def run_answer(
    caller: Visitor, conversation_id: UUID, first: Markup = _NOTHING, *, otherwise: str = ""
) -> Response:
    """What goes on in a conversation after somebody has done something, behind what else has changed."""
    async with caller.runtime.database.read() as session:
        streams = first + await run_stream(caller.runtime, session, conversation_id)
    return answer(caller.request, streams, otherwise=otherwise or f"/conversations/{conversation_id}")


@router.post("/runs/{run_id}/stop")
async def stop(caller: PageCaller, run_id: UUID) -> Response:
    run = await request_stop(*caller, run_id)
    return await run_answer(caller, run.conversation_id)


@router.post("/runs/{run_id}/keep")
async def keep(caller: PageCaller, run_id: UUID) -> Response:
    message = await keep_text(*caller, run_id)
    async with caller.runtime.database.read() as session:
        permissions = await find_permissions(session, message.conversation_id, caller.viewer)
        first = await message_stream(session, message.id, permissions)
    return await run_answer(caller, message.conversation_id, first)


@router.post("/runs/{run_id}/discard")
async def discard(caller: PageCaller, run_id: UUID) -> Response:
    run = await discard_text(*caller, run_id)
    return await run_answer(caller, run.conversation_id)


@router.get("/runs/{run_id}/text")
async def text(caller: PageCaller, run_id: UUID) -> dict[str, str]:
    """What has been written so far, for a page that missed a piece; where display scripts are for it, also as HTML."""
    run = await read_run(*caller, run_id)
    is_behind = run.status == "running" and run.replied_at is not None
    written = caller.runtime.live_text.get(run.id, run.text)
    async with caller.runtime.database.read() as session:
        html = await written_html(session, run, written) if written else None
    known = {"text": written, "status": "behind" if is_behind else run.status}
    return known if html is None else {**known, "html": html}


@router.get("/conversations/{conversation_id}/panel/runs")
async def runs(caller: PageCaller, conversation_id: UUID) -> Response:
    return panel_page(caller.request, "runs", await runs_view(*caller, conversation_id))
