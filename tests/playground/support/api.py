"""The API of an application in this process, as a program of its owner's uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx2
from fastapi import APIRouter

from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.edge.web.requests import API_PREFIX

__all__ = ["ORIGIN", "asking"]

ORIGIN = "http://127.0.0.1"


@asynccontextmanager
async def asking(runtime: Runtime, user_id: UUID, *routers: APIRouter) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for these routes."""
    app: Any = create_app(runtime, user_id)
    for router in routers:
        app.include_router(router, prefix=API_PREFIX)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(
        transport=transport, base_url=f"{ORIGIN}{API_PREFIX}", headers={"Origin": ORIGIN}
    ) as client:
        yield client
