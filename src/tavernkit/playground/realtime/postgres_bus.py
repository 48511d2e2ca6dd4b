"""The bus across processes: PostgreSQL's LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import psycopg
from sqlalchemy import make_url

from tavernkit.playground.realtime.bus import LocalBus

__all__ = ["PostgresBus"]

CHANNEL = "tavernkit"
MAX_PAYLOAD_BYTES = 7900
RECONNECT_SECONDS = 1.0

log = logging.getLogger(__name__)


class PostgresBus(LocalBus):
    """Hands everything to the database, and everything that comes back to the listeners in this process."""

    def __init__(self, database_url: str) -> None:
        super().__init__()
        self._conninfo = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._sending: psycopg.AsyncConnection[Any] | None = None
        self._send_lock = asyncio.Lock()
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        ready = asyncio.Event()
        self._listening = asyncio.create_task(self._listen(ready))
        await ready.wait()

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._sending is not None:
            await self._sending.close()

    async def publish(self, topic: str, data: dict[str, Any]) -> None:
        payload = json.dumps([topic, data])
        if len(payload) > MAX_PAYLOAD_BYTES:
            payload = json.dumps([topic, {"gap": True}])
        try:
            async with self._send_lock:
                if self._sending is None or self._sending.closed:
                    self._sending = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
                await self._sending.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
        except psycopg.Error:
            # The change itself is committed; listeners find it when they look the next time.
            log.warning("Could not notify the other processes.", exc_info=True)

    async def _listen(self, ready: asyncio.Event) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self.deliver_gap()
                    ready.set()
                    async for notification in connection.notifies():
                        topic, data = json.loads(notification.payload)
                        self.deliver(topic, data)
            except psycopg.Error:
                log.warning("Lost the connection to the database; listening again soon.", exc_info=True)
                await asyncio.sleep(RECONNECT_SECONDS)
