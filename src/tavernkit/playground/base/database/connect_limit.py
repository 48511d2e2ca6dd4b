"""Connections to PostgreSQL that do not wait for ever: neither for a lock, nor for a server that has gone silent."""

from __future__ import annotations

import asyncio
import math
import os
import socket
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")

# The server ends a statement that takes too long by itself, and the connection stays; only a server that does not even
# do that is hung up on.
GRACE_SECONDS = 2.0


async def connect_with_limit(*args: Any, patience: float, **kwargs: Any) -> psycopg.AsyncConnection[Any]:
    """Connect as psycopg does; no statement then waits much longer than `patience`, in seconds."""
    # The driver rounds to whole seconds, and takes less than two for two.
    kwargs.setdefault("connect_timeout", math.ceil(patience))
    connection = await _LimitedConnection.connect(*args, **kwargs)
    connection.patience = patience + GRACE_SECONDS
    await connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{round(patience * 1000)}ms"])
    await connection.commit()
    return connection


class _LimitedConnection(psycopg.AsyncConnection[Any]):
    """A connection that is hung up when the server does not answer."""

    patience = 60.0

    async def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        hanging_up = asyncio.get_running_loop().call_later(self.patience, self._hang_up)
        try:
            return await super().wait(gen, interval, timeout)
        finally:
            hanging_up.cancel()

    def _hang_up(self) -> None:
        """Let whoever waits for the server learn that there is nothing to wait for."""
        if not self.closed:
            with socket.socket(fileno=os.dup(self.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
