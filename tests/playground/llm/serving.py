"""A real HTTP server in a thread, for as long as a block lasts."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import httpx2
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.hanging import eventually

__all__ = ["Stage", "noted", "serve", "until_asked", "until_left"]


@contextmanager
def serve(app: ASGIApp) -> Iterator[str]:
    """Serve an ASGI application on loopback and give its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=0, ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class Stage:
    """An ASGI application that gives the answer which the test has laid out."""

    def __init__(self) -> None:
        self.address = ""
        self.headers: dict[str, str] = {}
        self.body = b""
        self.path = self.query = ""
        self._answer: tuple[int, dict[str, str], tuple[bytes, ...]] = (200, {}, ())

    def answer(self, *pieces: bytes, status: int = 200, **headers: str) -> str:
        """Lay out the next answer, and return the base URL to ask for it; an empty header is not sent."""
        named = {name.replace("_", "-"): value for name, value in headers.items() if value}
        self._answer = (status, named, pieces)
        return f"{self.address}/v1"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers, pieces = self._answer
        self.path, self.query = scope["path"], scope["query_string"].decode()
        self.headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.body = (await receive())["body"]
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def noted(base_url: str, what: Literal["requests", "closed"]) -> Any:
    """What a scripted server says of itself: the bodies it has received, or how many streams were closed early."""
    root = httpx2.URL(base_url).copy_with(path=f"/_{what}")
    async with httpx2.AsyncClient(trust_env=False) as http:
        return (await http.get(root)).json()


@asynccontextmanager
async def until_asked(base_url: str) -> AsyncIterator[None]:
    """Waits at its end until the server has received one more request."""
    before = len(await noted(base_url, "requests"))

    async def is_asked() -> bool:
        return len(await noted(base_url, "requests")) > before

    yield
    await eventually(is_asked)


@asynccontextmanager
async def until_left(base_url: str) -> AsyncIterator[None]:
    """Waits at its end until the server has seen one more stream closed before its end."""
    before = await noted(base_url, "closed")

    async def is_left() -> bool:
        return bool(await noted(base_url, "closed") > before)

    yield
    await eventually(is_left)
