"""What the routes share: who asks, in which form they want the answer, and what is not there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.web.authentication import viewer_of
from tavernkit.playground.edge.web.bodies import before_body
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.streams import CONTENT_TYPE, stream
from tavernkit.playground.edge.web.trashed import note_trashed
from tavernkit.values import Value

P = ParamSpec("P")
T = TypeVar("T")

API_PREFIX = "/api/v1"
"""Where the JSON API is."""
PROBLEM = "problem"
"""The place that every page has for why something was not done."""
TOAST = "toast"
FAILED = _("Request failed")
TITLES = {
    403: _("Not allowed"),
    404: _("Not found"),
    405: _("Method not allowed"),
    422: _("Invalid input"),
    503: _("Try again later"),
    507: _("Storage full"),
}


def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


class SignedOutError(HTTPException):
    """A page that only somebody who is signed in can see."""


class Caller(NamedTuple):
    """The running application and who asks it for something: what services take first, as `*caller`."""

    runtime: Runtime
    viewer: Viewer

    async def read(
        self, query: Callable[Concatenate[AsyncSession, Viewer, P], Awaitable[T]], *args: P.args, **options: P.kwargs
    ) -> T:
        """What one query finds for who asks."""
        async with self.runtime.database.read() as session:
            return await query(session, self.viewer, *args, **options)


class Visitor(Caller):
    """Who asks for a page, with their request."""

    request: Request


@before_body
async def _visitor(request: Request) -> Visitor:
    try:
        visitor = Visitor(_runtime(request), await viewer_of(request))
    except Refused as refused:
        raise SignedOutError(refused.status, refused.sentence) from None
    visitor.request = request
    note_trashed(request)
    return visitor


PageCaller = Annotated[Visitor, Depends(_visitor)]
"""Who asks for a page; nobody is sent to sign in."""


AppRuntime = Annotated[Runtime, Depends(_runtime)]
"""The running application, for who need not be signed in."""


def wants_streams(request: Request) -> bool:
    return CONTENT_TYPE in request.headers.get("accept", "")


def replaced(target: str, template: str, /, *, morph: bool = False, **context: object) -> Markup:
    """A stream that draws the element whose id is `target` anew from a template."""
    return stream("replace", target, render(template, **context), morph=morph)


def streamed(streams: Markup, status: int = 200) -> HTMLResponse:
    return HTMLResponse(str(streams), status, media_type=CONTENT_TYPE)


def answer(request: Request, streams: Markup, *, otherwise: str) -> Response:
    """Turbo streams for a page that can use them, else a redirect to the page that shows the result."""
    if wants_streams(request):
        return streamed(streams)
    return RedirectResponse(otherwise, status_code=303)


class ToastView(Value, frozen=True, kw_only=True):
    """A sentence about what has just happened, with a way to undo it or to go there: `restore_id` is a message."""

    sentence: str
    is_problem: bool = False
    restore_id: str = ""
    address: str = ""


def refuse_in(place: str) -> Any:
    """A dependency of routes whose refusals are shown elsewhere on the page than most."""

    def choose(request: Request) -> None:
        request.state.refusal_place = place

    return Depends(choose)


def refusal(request: Request, refused: Refused) -> Response:
    """Why nothing was done, for somebody who stays where they are with everything that they have typed."""
    place = getattr(request.state, "refusal_place", PROBLEM)
    if place == TOAST and wants_streams(request):
        return streamed(toast_stream(ToastView(sentence=refused.sentence, is_problem=True)), refused.status)
    return problem(request, refused.status, refused.sentence, title=TITLES.get(refused.status, FAILED), place=place)


def toast_stream(toast: ToastView) -> Markup:
    return replaced(TOAST, "_toast.html", toast=toast)


def problem(request: Request, status: int, sentence: str, *, title: str = FAILED, place: str = PROBLEM) -> Response:
    """The sentence, put where the page has its place for such sentences; without scripts, a page that says it."""
    if wants_streams(request):
        return streamed(stream("update", place, render("_problem.html", problem=sentence)), status)
    return HTMLResponse(str(render("error.html", status=status, title=title, sentence=sentence)), status)


async def to_sign_in(request: Request, _error: Exception) -> Response:
    """Where somebody who is not signed in is sent; from there they come back."""
    seen = request.url.path if request.method == "GET" else "/"
    if request.url.query and request.method == "GET":
        seen += f"?{request.url.query}"
    return RedirectResponse(f"/sign-in?{urlencode({'next': seen})}", status_code=303)


def missing() -> HTTPException:
    return HTTPException(404, _("This page does not exist, or it belongs to somebody else."))
