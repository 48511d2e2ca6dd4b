"""The bus across processes: PostgreSQL's LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg
from sqlalchemy import make_url

from tavernkit.playground.base.database.engine import connect_with_limit
from tavernkit.playground.base.realtime.bus import Bus
from tavernkit.playground.base.realtime.sharing import SharedWork

CHANNEL = "tavernkit"
MAX_PIECE_CHARACTERS = 7900
"""A notification holds less than 8,000 bytes; what is sent is ASCII."""

LISTEN = f"LISTEN {CHANNEL}"
MORE, LAST = "+", "."
CHECK_SECONDS = 5.0
"""How often a connection on which nothing arrives is asked whether it is still there."""
SEND = "SELECT pg_notify(%s, piece) FROM unnest(%s::text[]) AS piece"

log = logging.getLogger(__name__)


class PostgresBus(Bus):
    """Hands everything to the database, and everything that comes back to the listeners in this process.

    What is published while something is being sent goes out together, in one transaction. The notifications of a
    transaction arrive in their order and with no others between them, so long items are cut, and joined again.
    """

    def __init__(self, database_url: str, *, patience: float = 15.0) -> None:
        super().__init__()
        self._patience = patience
        self._conninfo = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._sending: psycopg.AsyncConnection[Any] | None = None
        self._outgoing: list[str] = []
        self._shared = SharedWork()
        self._loop = self.loops.add("listen", every=CHECK_SECONDS)
        self._listening: asyncio.Task[None] | None = None
        self._incoming = ""

    async def start(self) -> None:
        ready = asyncio.Event()
        # It is ended by cancelling it: it does nothing but wait.
        self._listening = self._loop.start(partial(self._listen, ready), until=asyncio.Event())
        await ready.wait()

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._sending is not None:
            await self._sending.close()

    async def publish(self, topic: str, data: dict[str, Any]) -> None:
        self._outgoing.append(f"{topic}\n{json.dumps(data)}")
        await self._shared.do("send", self._send)

    async def _send(self) -> None:
        items, self._outgoing = self._outgoing, []
        for last_try in (False, True):
            try:
                if self._sending is None or self._sending.closed:
                    self._sending = await connect_with_limit(self._conninfo, patience=self._patience, autocommit=True)
                await self._sending.execute(SEND, (CHANNEL, _pieces(items)))
            except psycopg.Error:
                # That a connection is gone shows only when it is used. If it cannot be had again, the change itself is
                # committed all the same; listeners find it when they look the next time.
                if last_try:
                    log.warning("Could not notify the other processes.", exc_info=True)
            else:
                return

    async def _listen(self, ready: asyncio.Event) -> None:
        async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
            await connection.execute(LISTEN)
            self._incoming = ""
            self.deliver_gap()
            ready.set()
            while True:
                self._loop.succeeded()
                async for notification in connection.notifies(timeout=CHECK_SECONDS):
                    self._receive(notification.payload)
                # Changes nothing, and fails when the connection is gone.
                await connection.execute(LISTEN)

    def _receive(self, payload: str) -> None:
        head, _, piece = payload.partition(" ")
        self._incoming += piece
        if head.startswith(MORE):
            return
        item, self._incoming = self._incoming, ""
        topic, _, data = item.partition("\n")
        if topic in self._listeners:
            self.deliver(topic, json.loads(data))


def _pieces(items: Sequence[str]) -> list[str]:
    """Each piece has a number, because the database sends the same notification only once in a transaction."""
    pieces: list[str] = []
    for item in items:
        for start in range(0, len(item), MAX_PIECE_CHARACTERS):
            mark = MORE if start + MAX_PIECE_CHARACTERS < len(item) else LAST
            pieces.append(f"{mark}{len(pieces)} {item[start : start + MAX_PIECE_CHARACTERS]}")
    return pieces
