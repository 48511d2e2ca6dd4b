"""A model provider in this process: a real HTTP server that knows what it was asked, and whose replies can be held."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tavernkit.playground.base.llm.scripted_acts import Act, follow_directives
from tavernkit.playground.base.llm.scripted_server import scripted_app
from tavernkit.values import JsonObject

__all__ = ["ProviderServer", "provider_server"]

PARTS_BEFORE_THE_GATE = 2
"""The first part of a stream of OpenAI's has no text, the second has the first word."""


class ProviderServer:
    """A server that speaks from the script; `bodies` is what it was asked."""

    def __init__(self, address: str, delay: float) -> None:
        self.address = address
        self.bodies: list[JsonObject] = []
        self._loop = asyncio.new_event_loop()
        self._gate = asyncio.Event()
        self._gate.set()
        self.begin_anew(delay=delay)

    @property
    def base_url(self) -> str:
        """The address that an OpenAI-style client is given."""
        return f"{self.address}/v1"

    def begin_anew(self, *, delay: float = 0) -> None:
        """Forget everything that was asked; `delay` is seconds before each word."""
        self.bodies = []
        self._app: ASGIApp = scripted_app(self._script, delay=delay)

    def hold(self) -> None:
        """Let replies stand still behind their first word."""
        self._loop.call_soon_threadsafe(self._gate.clear)

    def release(self) -> None:
        """Let all replies go on."""
        self._loop.call_soon_threadsafe(self._gate.set)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold replies, and release them at the end."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = 0

        async def send_unless_held(message: Message) -> None:
            nonlocal parts
            if message["type"] == "http.response.body":
                parts += 1
                if parts > PARTS_BEFORE_THE_GATE:
                    await self._gate.wait()
            await send(message)

        await self._app(scope, receive, send_unless_held)

    def _script(self, body: JsonObject) -> Act:
        self.bodies.append(body)
        return follow_directives(body)

    @contextmanager
    def serving(self, listening: socket.socket) -> Iterator[None]:
        """Serve on a socket in a thread of its own."""
        config = uvicorn.Config(self, log_level="critical", lifespan="off", timeout_graceful_shutdown=0, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=self._loop.run_until_complete, args=(server.serve([listening]),))
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()
            self._loop.close()


@contextmanager
def provider_server(*, delay: float = 0, listener: socket.socket | None = None) -> Iterator[ProviderServer]:
    """A provider that has not been asked anything yet, on a port of its own or on the given one."""
    with listener or socket.create_server(("127.0.0.1", 0)) as listening:
        server = ProviderServer(f"http://127.0.0.1:{listening.getsockname()[1]}", delay)
        with server.serving(listening):
            yield server
