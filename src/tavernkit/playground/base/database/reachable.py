"""Waiting for a database server that is away."""

from __future__ import annotations

import asyncio
import logging
import time

from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from sqlalchemy import make_url

from tavernkit.playground.base.waiting import happens

LOOK_SECONDS = 1.0
CONNECT_SECONDS = 3
REMIND_SECONDS = 60.0

log = logging.getLogger(__name__)


async def wait_until_reachable(url: str, stopping: asyncio.Event) -> bool:
    """Wait for a PostgreSQL server that is away, starting or in recovery; False when we are to stop instead.

    A server that answers is reached, whatever it answers: a wrong password does not become right by waiting.
    """
    if not url.startswith("postgresql"):
        return True
    said_at: float | None = None
    while await asyncio.to_thread(_is_away, url):
        now = time.monotonic()
        if said_at is None or now - said_at >= REMIND_SECONDS:
            said_at = now
            where = make_url(url).render_as_string(hide_password=True)
            log.warning("The database %s cannot be reached yet; waiting for it. See TAVERNKIT_DATABASE_URL.", where)
        if await happens(stopping, within=LOOK_SECONDS):
            return False
    if said_at is not None:
        log.warning("The database can be reached now.")
    return True


def _is_away(url: str) -> bool:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    conninfo = make_conninfo(plain, connect_timeout=CONNECT_SECONDS)
    return PGconn.ping(conninfo.encode()) in (Ping.REJECT, Ping.NO_RESPONSE)
