"""Bodies of requests: how much is taken from whom, and what is asked before any of it is read.

FastAPI reads and parses a body before it asks any dependency. Routes of this class ask those first that say who sends
the request, and stop reading at a limit: a small one where anybody may send, a larger one for people who are known, and
another where a route declares it with `takes`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeAlias, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message

from tavernkit.errors import ParseError
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.reading import check_nesting

STRANGERS_BYTES = 64 * 1024
KNOWN_BYTES = 4 * 1024 * 1024
# The C parser holds the interpreter's lock until it is done, in a thread as well. What it costs depends on the number
# of values: this many take about 50 ms.
MAX_MARKS = 400_000
SMALL_BYTES = 64 * 1024

Check: TypeAlias = Callable[[Request], Awaitable[object]]
C = TypeVar("C", bound=Check)
E = TypeVar("E", bound=Callable[..., Any])

_BEFORE_BODY: set[Callable[..., Any]] = set()
_DECLARED: dict[Callable[..., Any], int] = {}


def before_body(dependency: C) -> C:
    """A dependency that refuses strangers: it is asked before the body is read, and then again in its turn."""
    _BEFORE_BODY.add(dependency)
    return dependency


def takes(max_bytes: int) -> Callable[[E], E]:
    """Declare how large the body of an endpoint may be; it stands below the decorator of the route."""

    def declare(endpoint: E) -> E:
        _DECLARED[endpoint] = max_bytes
        return endpoint

    return declare


def take_up_to(request: Request, max_bytes: int) -> None:
    """Set the limit for a body that the endpoint itself is about to read."""
    request.state.max_body_bytes = max_bytes


def too_large(max_bytes: int) -> Refused:
    return Refused("too_large", _("The request is too large. At most {limit} bytes are accepted.", limit=max_bytes))


class GuardedRoute(APIRoute):
    """A route that knows who asks before it reads what they send, and reads no further than its limit."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        checks: list[Check] = [call for call in _calls(self.dependant) if call in _BEFORE_BODY]
        limit = _DECLARED.get(self.endpoint, KNOWN_BYTES if checks else STRANGERS_BYTES)

        async def handle_guarded(request: Request) -> Response:
            if self.body_field is not None:
                for check in checks:
                    await check(request)
            try:
                return await handle(_LimitedRequest(request, limit))
            except ClientDisconnect:
                # Nobody reads the answer: somebody left the page while it was sending.
                return Response(status_code=400)
            except HTTPException as error:
                # The framework takes whatever is raised while it reads a body for a body that cannot be read.
                if isinstance(error.__cause__, Refused):
                    raise error.__cause__ from None
                raise

        return handle_guarded


def guarded(router: APIRouter) -> APIRouter:
    """The router, with guarded routes: made so where routers are included, no part can forget it.

    The framework asks an included route for its handler only when the first request looks for it.
    """
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.__class__ = GuardedRoute
    return router


class _LimitedRequest(Request):
    def __init__(self, request: Request, limit: int) -> None:
        super().__init__(request.scope, self._receive_limited)
        self._unlimited = request.receive
        self._limit = limit
        self._received = 0

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = _parsed(body) if len(body) <= SMALL_BYTES else await to_thread.run_sync(_parsed, body)
        return self._json

    async def _receive_limited(self) -> Message:
        limit: int = getattr(self.state, "max_body_bytes", self._limit)
        if self._received == 0 and _declared_length(self) > limit:
            raise too_large(limit)
        message = await self._unlimited()
        self._received += len(message.get("body", b""))
        if self._received > limit:
            raise too_large(limit)
        return message


def _declared_length(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() else 0


def _parsed(body: bytes) -> Any:
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_MARKS:
        raise Refused("invalid", _("The body of the request holds too many values."))
    try:
        check_nesting(body.decode("latin-1"), "The body of the request", MAX_MARKS)
    except ParseError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    return json.loads(body)


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    for dependency in dependant.dependencies:
        if dependency.call is not None:
            yield dependency.call
        yield from _calls(dependency)
