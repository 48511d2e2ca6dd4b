"""Requests whose bodies are read no further than a limit."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message, Receive

from tavernkit.playground.models_api.errors import EndpointError
from tavernkit.playground.models_api.schemas import MAX_BODY_BYTES

__all__ = ["LimitedRoute"]


class LimitedRoute(APIRoute):
    """A route whose body the framework reads, unless it is too large."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def limited(request: Request) -> Response:
            return await handle(Request(request.scope, _limited(request.receive)))

        return limited


def _limited(receive: Receive) -> Receive:
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            raise EndpointError(
                413, f"That is too much at once; at most {MAX_BODY_BYTES:,} bytes are taken.", code="too_large"
            )
        return message

    return counted
