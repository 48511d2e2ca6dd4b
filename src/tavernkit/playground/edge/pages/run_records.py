"""The tab of the side panel with the newest runs, and the page of one."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from tavernkit.playground.edge.presenting.panel import panel_page
from tavernkit.playground.edge.presenting.run_records import run_page_view, runs_view
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import PageCaller

router = APIRouter()


@router.get("/conversations/{conversation_id}/panel/runs")
async def runs(request: Request, caller: PageCaller, conversation_id: UUID) -> Response:
    return panel_page(request, "runs", await runs_view(*caller, conversation_id))


@router.get("/runs/{run_id}")
async def show(caller: PageCaller, run_id: UUID) -> Response:
    view = await run_page_view(*caller, run_id)
    return HTMLResponse(str(render("panel/run.html", view=view)), headers={"Cache-Control": "no-store"})
