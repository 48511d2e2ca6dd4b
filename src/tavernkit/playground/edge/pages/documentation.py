"""The documentation, which anybody may read who can reach the server."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.documentation import ADDRESS, docs_groups, docs_page
from tavernkit.playground.edge.web.authentication import viewer_of
from tavernkit.playground.edge.web.forms import page
from tavernkit.playground.edge.web.requests import missing

router = APIRouter()


@router.get(ADDRESS)
async def documentation(request: Request) -> Response:
    return await documentation_page(request, "")


@router.get(f"{ADDRESS}/{{name:path}}")
async def documentation_page(request: Request, name: str) -> Response:
    shown = docs_page(name)
    if shown is None:
        raise missing()
    return page("documentation.html", shown=shown, groups=docs_groups(), is_signed_in=await _is_signed_in(request))


async def _is_signed_in(request: Request) -> bool:
    try:
        await viewer_of(request)
    except Refused:
        return False
    return True
