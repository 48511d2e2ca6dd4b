"""The page with all macros."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tavernkit.playground.edge.web.forms import page
from tavernkit.playground.edge.web.requests import PageCaller
from tavernkit.playground.story.presets.macros import PLATFORMS, Platform, macros_by_topic

router = APIRouter()


@router.get("/macros")
async def macros(
    _caller: PageCaller, platform: Platform = "sillytavern", search: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    topics = macros_by_topic(platform, search)
    return page("macros.html", topics=topics, platform=platform, platforms=PLATFORMS, search=search)
