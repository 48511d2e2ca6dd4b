"""Whether the application works: its database, its worker, and what waits for one.

It answers soon whatever the database does, and says nothing about stories.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse
from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from tavernkit import __version__
from tavernkit.playground.base.database.models import Job, Message, Run
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.supervision import LoopState
from tavernkit.values import Value

DATABASE_SECONDS = 5.0
"""How long the database has to answer."""


class Health(Value, frozen=True, kw_only=True):
    """How this process stands: `queue` is None while the database does not answer."""

    version: str
    worker: tuple[LoopState, ...]
    bus: tuple[LoopState, ...]
    queue: dict[str, Any] | None

    @property
    def is_well(self) -> bool:
        return self.queue is not None and all(loop.is_well for loop in (*self.worker, *self.bus))


async def read_health(runtime: Runtime) -> Health:
    """Look how this process stands."""
    queue = await _queue(runtime)
    return Health(version=__version__, worker=runtime.loops.states(), bus=runtime.bus.loops.states(), queue=queue)


async def health(request: Request) -> JSONResponse:
    found = await read_health(request.app.state.runtime)
    return JSONResponse(health_document(found), 200 if found.is_well else 503, headers={"Cache-Control": "no-store"})


def health_document(found: Health) -> dict[str, Any]:
    """What `GET /health` answers."""
    return {
        "status": "ok" if found.is_well else "unhealthy",
        "version": found.version,
        "database": "ok" if found.queue is not None else "unreachable",
        "worker": _report(found.worker) if found.worker else "none",
        "bus": _report(found.bus) if found.bus else "local",
        "queue": found.queue,
    }


def _report(loops: tuple[LoopState, ...]) -> dict[str, Any]:
    return {
        loop.name: {
            "alive": loop.is_alive,
            "seconds_since_success": round(loop.seconds_since_success, 1),
            "failures": loop.failures,
        }
        for loop in loops
    }


async def _queue(runtime: Runtime) -> dict[str, Any] | None:
    """What is due and has not been claimed; None when the database does not say so in time."""
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            # One question at a time, and one that has been sent is not torn off: whoever cannot wait leaves it alone.
            return await runtime.shared.do("health", lambda: _read_queue(runtime))
    except (TimeoutError, DBAPIError):
        return None


async def _read_queue(runtime: Runtime) -> dict[str, Any]:
    other = aliased(Run)
    waits = exists().where(other.conversation_id == Run.conversation_id, other.status == "running")
    async with runtime.database.apart("health").read() as session:
        # Nothing works while the messages cannot be read.
        await session.scalar(select(Message.id).limit(1))
        now = await runtime.lease_clock.now(session)
        return {
            "runs": await _due(session, now, Run.run_after, Run.status == "queued", ~waits),
            "jobs": await _due(session, now, Job.run_after, Job.status == "queued"),
        }


async def _due(
    session: AsyncSession, now: datetime, due_at: InstrumentedAttribute[datetime], *where: ColumnElement[bool]
) -> dict[str, Any]:
    due, oldest = (await session.execute(select(func.count(), func.min(due_at)).where(due_at <= now, *where))).one()
    return {"due": due, "oldest_seconds": None if oldest is None else round((now - oldest).total_seconds(), 1)}
