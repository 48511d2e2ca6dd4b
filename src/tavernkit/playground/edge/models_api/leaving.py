"""Noticing that nobody waits for an answer any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive


class Disconnect:
    """`event` happens when the client goes away or the application stops; then `is_gone` says whether it was the
    client."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.is_gone = False


@asynccontextmanager
async def watch_disconnect(receive: Receive, stopping: asyncio.Event) -> AsyncIterator[Disconnect]:
    """Watch the connection of a request whose body has been read. Who waits looks at the event; nobody is cancelled."""
    noticed = Disconnect()

    async def watch_client() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        noticed.is_gone = True
        noticed.event.set()

    async def watch_application() -> None:
        await stopping.wait()
        noticed.event.set()

    watching = [asyncio.create_task(watch_client()), asyncio.create_task(watch_application())]
    try:
        yield noticed
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
