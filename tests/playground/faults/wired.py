"""An application with real model clients, whose provider is a scripted server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from pydantic import SecretStr

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Provider, Run
from tavernkit.playground.base.llm.scripted_server import scripted_app
from tavernkit.playground.base.runtime import open_runtime
from tavernkit.playground.story.providers.documents import NewProvider, TimeoutsIn
from tavernkit.playground.story.providers.service import add_provider, make_default
from tavernkit.playground.story.replies.actions import retry
from tests.playground.playing import Play, one_story

__all__ = ["HURRIED", "KEY", "PATHS", "PATIENT", "Wired", "address_of", "scripted", "wired"]

KEY = "sk-7f3a91c2d8"
PATHS = {"openai": "/v1", "openai_text": "/v1", "anthropic": "/v1", "google": "/v1beta"}
"""Where the scripted server speaks the protocol of each kind of provider."""

PATIENT = TimeoutsIn(first_byte=60, between_chunks=60)
"""For servers that are only busy."""

HURRIED = TimeoutsIn(connect=1, first_byte=1, between_chunks=1)


class Wired(Play):
    """A play in which the default provider is a server of its own."""

    address = ""

    async def requests(self) -> list[Any]:
        """The bodies that the provider has received."""
        found: list[Any] = await self._told("requests")
        return found

    async def until_asked(self) -> None:
        """Wait until the provider has received a request."""
        async with asyncio.timeout(10):
            while not await self.requests():
                await asyncio.sleep(0.01)

    async def until_left(self) -> None:
        """Wait until the provider has seen that nobody listens to its reply any more."""
        async with asyncio.timeout(10):
            while not await self._told("closed"):
                await asyncio.sleep(0.01)

    async def ended(self) -> Run:
        """The newest run, once it is over."""
        return await self.until(lambda run: run.status not in ("queued", "running"))

    async def again(self) -> Run:
        """What becomes of the reply when the person asks for it once more."""
        before = (await self.run()).id
        planned = await retry(self.runtime, self.viewer, self.conversation_id)
        assert planned.id != before
        return await self.ended()

    async def _told(self, what: str) -> Any:
        async with httpx2.AsyncClient(trust_env=False) as http:
            return (await http.get(f"{self.address}/_{what}")).json()


@asynccontextmanager
async def wired(
    url: str, folder: Path, address: str, *, kind: Any = "openai", timeouts: TimeoutsIn = PATIENT, **fields: Any
) -> AsyncIterator[Wired]:
    """An application with the bundled story, a worker, and the server at this address as its provider."""
    chosen = AppConfig(data_dir=folder, database_url=url, lease_seconds=2.0, heartbeat_seconds=0.1)
    async with open_runtime(chosen) as runtime:
        owner_id, conversation_id = await one_story(runtime)
        play = Wired(runtime, owner_id, conversation_id)
        play.address = address
        administrator = Viewer(user_id=owner_id, role="administrator")
        new = NewProvider(
            name="Wired", kind=kind, base_url=address + PATHS[kind], api_key=SecretStr(KEY), timeouts=timeouts, **fields
        )
        row = await add_provider(runtime, administrator, new)
        assert isinstance(row, Provider), row
        await make_default(runtime, administrator, row.id)
        async with play.working():
            yield play


@contextmanager
def scripted(*, delay: float = 0, listener: socket.socket | None = None) -> Iterator[str]:
    """A scripted server that has not been asked anything yet; its address."""
    with listener or socket.create_server(("127.0.0.1", 0)) as listening:
        app = scripted_app(delay=delay)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=0, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield address_of(listening)
        finally:
            server.should_exit = True
            thread.join()


def address_of(taken: socket.socket) -> str:
    return f"http://127.0.0.1:{taken.getsockname()[1]}"
