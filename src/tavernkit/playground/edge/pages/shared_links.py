"""The links of a conversation, and what anybody reads with one of them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.api.files import bytes_response
from tavernkit.playground.edge.presenting.shared_story import shared_links_view, shared_picture, shared_story_view
from tavernkit.playground.edge.web.address_limits import AddressLimits
from tavernkit.playground.edge.web.authentication import visit_of
from tavernkit.playground.edge.web.forms import Flag, fresh_page, understood
from tavernkit.playground.edge.web.requests import PageCaller, missing
from tavernkit.playground.story.shared_links.documents import SharedLinkIn
from tavernkit.playground.story.shared_links.service import create_shared_link, revoke_shared_link

router = APIRouter()


@router.get("/conversations/{conversation_id}/links")
async def links(caller: PageCaller, conversation_id: UUID) -> Response:
    return fresh_page("shared_links.html", view=await shared_links_view(*caller, conversation_id))


@router.post("/conversations/{conversation_id}/links")
async def make_link(
    caller: PageCaller,
    conversation_id: UUID,
    days: Annotated[str, Form(max_length=10)] = "",
    with_branches: Flag = False,
) -> Response:
    """The page with the address of the new link, which is not shown again; without days it does not expire."""
    try:
        body = understood(SharedLinkIn, days=days or None, with_branches=with_branches)
        made = await create_shared_link(*caller, conversation_id, **dict(body))
    except Refused as refused:
        if refused.code in ("not_found", "forbidden"):
            raise
        return fresh_page("shared_links.html", refused, view=await shared_links_view(*caller, conversation_id))
    address = str(caller.request.base_url.replace(path=f"/shared/{made.token}", query=""))
    return fresh_page("shared_links.html", view=await shared_links_view(*caller, conversation_id, address=address))


@router.post("/conversations/{conversation_id}/links/{shared_link_id}/revoke")
async def revoke_link(caller: PageCaller, conversation_id: UUID, shared_link_id: UUID) -> Response:
    await revoke_shared_link(*caller, shared_link_id)
    return RedirectResponse(f"/conversations/{conversation_id}/links", status_code=303)


# Nobody learns from where a link leads to whom it was given: it is in no index, in no cache and in no referrer.
READER_HEADERS = {
    "X-Robots-Tag": "noindex, nofollow",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "style-src 'self'",
            "img-src 'self'",
            "font-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    ),
}
PageNumber = Annotated[int, Query(ge=1, le=10**9)]


def _reader(request: Request) -> Runtime:
    """The application, for anybody who does not ask too often."""
    runtime: Runtime = request.app.state.runtime
    limits: AddressLimits = request.app.state.reading_limits
    limits.count(visit_of(request).address, runtime.clock())
    return runtime


Reader = Annotated[Runtime, Depends(_reader)]


@router.get("/shared/{token}")
async def story(runtime: Reader, token: str, page: PageNumber = 1) -> Response:
    """A story for reading; a link that was revoked, has expired or never was is the same as any wrong address."""
    return await _story_page(runtime, token, "", page)


@router.get("/shared/{token}/branches/{branch}")
async def branch(
    runtime: Reader, token: str, branch: Annotated[str, Path(max_length=100)], page: PageNumber = 1
) -> Response:
    return await _story_page(runtime, token, branch, page)


@router.get("/shared/{token}/pictures/{sha256}")
async def picture(
    request: Request, runtime: Reader, token: str, sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    async with runtime.database.read() as session:
        blob = await shared_picture(session, runtime, token, sha256)
    if blob is None:
        raise missing()
    # Asked for again every time, so that it is gone with the link.
    response = bytes_response(request, blob, cache="private, no-cache")
    response.headers["X-Robots-Tag"] = READER_HEADERS["X-Robots-Tag"]
    return response


async def _story_page(runtime: Runtime, token: str, branch: str, page: int) -> Response:
    view = await shared_story_view(runtime, token, branch=branch, page=page)
    if view is None:
        raise missing()
    response = fresh_page("shared_story.html", view=view)
    response.headers.update(READER_HEADERS)
    return response
