"""Connections of the server: how many there may be, and how long one may stay open without doing anything.

Uvicorn waits without end for the rest of a request. Its protocol is extended here by limits: for the head of a request,
for the next byte of a body, and for the rest of a body that nobody will read. A connection on which a reply is being
sent is never ended for being quiet, or streams of events would be. Where the limit for the number of connections is
reached, a new one takes the place of the one that has been silent longest, so that strangers cannot keep people out.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
from socket import socket
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MOST_CONNECTIONS = 4096
RESERVED_DESCRIPTORS = 256
"""Left for the database, files, and connections to models."""

ACCEPTED_AT_ONCE = 16
"""So many are accepted before the first of them can be counted; asyncio has one number for this and the queue."""

QUEUED_CONNECTIONS = 1024
LEAST_BYTES_PER_SECOND = 64
SLOW_FACTOR = 3
"""A body may come as slowly as it likes for this many times the limit of silence; after that it has a least speed."""

UNREAD_FACTOR = 2
REPORT_SECONDS = 10.0

log = logging.getLogger(__name__)


class Connections(ServerState):
    """All connections of a server; those that could be given up come in the order of their last sign of life."""

    def __init__(self, *, limit: int, silent_seconds: float) -> None:
        super().__init__()
        self.limit = limit
        self.silent_seconds = silent_seconds
        self._waiting: dict[BoundedProtocol, None] = {}
        self._unread: dict[BoundedProtocol, None] = {}
        self._closed_for_new = _Report(f"All {limit} connections are in use; silent ones are closed for new ones: %d.")

    def admit(self, new: BoundedProtocol) -> None:
        """Count a new connection, and close another for it where there are too many."""
        if len(self.connections) > self.limit:
            given_up = next(iter(self._waiting), None) or next(iter(self._unread), None) or new
            self._closed_for_new.count(new.loop.time())
            self.remove(given_up)
            given_up.transport.abort()
            if given_up is new:
                return
        self.sort(new)

    def sort(self, connection: BoundedProtocol) -> None:
        """Note a sign of life."""
        self.remove(connection)
        if connection.is_waiting:
            self._waiting[connection] = None
        elif connection.flow.write_paused:
            self._unread[connection] = None

    def remove(self, connection: BoundedProtocol) -> None:
        self._waiting.pop(connection, None)
        self._unread.pop(connection, None)

    def close_silent(self, now: float) -> None:
        """End the connections that have been silent for too long."""
        for connection in cast("list[BoundedProtocol]", list(self.connections)):
            if connection.is_overdue(now, self.silent_seconds):
                connection.transport.abort()


class BoundedProtocol(H11Protocol):
    """One connection, with limits for what its client leaves undone."""

    server_state: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn narrows it
        super().connection_made(transport)
        # When it began to wait for a request; when the last bytes came; what a body has brought since it began.
        self._waits_since = self._heard_at = self._body_since = self.loop.time()
        self._body_bytes = self._unsent = 0
        self.server_state.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server_state.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self.loop.time()
        was_in_body = self.conn.their_state is h11.SEND_BODY
        super().data_received(data)
        if was_in_body:
            self._body_bytes += len(data)
        else:
            self._body_since, self._body_bytes = self._heard_at, 0
        self.server_state.sort(self)

    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()
        self.server_state.sort(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.server_state.sort(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.server_state.sort(self)

    @property
    def is_waiting(self) -> bool:
        """Whether it is the client who has to send something."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.flow.read_paused

    def is_overdue(self, now: float, limit: float) -> bool:
        if self.transport.is_closing():
            return self._is_unread(now, limit * UNREAD_FACTOR)
        if self.conn.their_state is h11.SEND_BODY and not self.cycle.response_complete:
            return self._is_stuck_in_body(now, limit)
        return self.is_waiting and now - self._waits_since > limit

    def _is_unread(self, now: float, limit: float) -> bool:
        """Whether nothing of what remains to be sent has been read for a while; it would wait for ever."""
        unsent = self.transport.get_write_buffer_size()
        if unsent != self._unsent:
            self._unsent, self._heard_at = unsent, now
        return now - self._heard_at > limit

    def _is_stuck_in_body(self, now: float, limit: float) -> bool:
        if self.flow.read_paused:
            self._heard_at = now
        lasted = now - self._body_since
        is_slow = lasted > limit * SLOW_FACTOR and self._body_bytes < lasted * LEAST_BYTES_PER_SECOND
        return is_slow or now - self._heard_at > limit

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: what a stranger asks for in vain need not fill the log."""


class BoundedServer(uvicorn.Server):
    """A server that limits its connections, and reports it briefly when none can be accepted."""

    def __init__(self, config: uvicorn.Config, *, silent_seconds: float) -> None:
        super().__init__(config)
        self.server_state: Connections = Connections(limit=_connection_limit(), silent_seconds=silent_seconds)
        self._not_accepted = _Report("The system has no room for another connection; tried in vain: %d.")

    async def startup(self, sockets: list[socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._report_failure)
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(QUEUED_CONNECTIONS)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self.server_state.close_silent(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _report_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_ROOM and "socket" in context:
            # Python tries again for every place in the queue, and would write a traceback each time.
            self._not_accepted.count(loop.time())
        else:
            loop.default_exception_handler(context)


_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class _Report:
    """A line of the log that is written once in a while, with how often there was a reason for it."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._times = 0
        self._next = 0.0

    def count(self, now: float) -> None:
        self._times += 1
        if now >= self._next:
            log.warning(self._line, self._times)
            self._times, self._next = 0, now + REPORT_SECONDS


def _connection_limit() -> int:
    """How many connections fit into the descriptors that this process may have, after asking for as many as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + RESERVED_DESCRIPTORS
    if 0 <= soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    else:
        soft = wanted
    return soft - min(RESERVED_DESCRIPTORS, soft // 2)
