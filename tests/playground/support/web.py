"""The application in this process, as browsers and programs of its owner's use it; there is no server."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx2
from fastapi import FastAPI
from starlette.datastructures import State

from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.edge.web.address_limits import AddressLimits
from tavernkit.playground.edge.web.requests import API_PREFIX

__all__ = ["ORIGIN", "api_client", "browser", "web_app"]

ORIGIN = "http://127.0.0.1"

_built: dict[tuple[object, ...], FastAPI] = {}


def web_app(runtime: Runtime, owner_id: UUID) -> FastAPI:
    """The application for this runtime. Its routes are the same for all, and take longer to make than most tests."""
    key = (runtime.settings.names, runtime.settings.is_local)
    if key not in _built:
        _built[key] = create_app(runtime, owner_id)
        _built[key].middleware_stack = _built[key].build_middleware_stack()
        _built[key].state = State()
    app = copy.copy(_built[key])
    app.state = State({"runtime": runtime, "owner_id": owner_id, "reading_limits": AddressLimits()})
    return app


@asynccontextmanager
async def browser(runtime: Runtime, user_id: UUID) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for pages and forms; addresses begin with the root."""
    async with _client(runtime, user_id, ORIGIN) as client:
        yield client


@asynccontextmanager
async def api_client(runtime: Runtime, user_id: UUID) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for the JSON API; addresses begin behind its prefix."""
    async with _client(runtime, user_id, f"{ORIGIN}{API_PREFIX}") as client:
        yield client


def _client(runtime: Runtime, user_id: UUID, base_url: str) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(web_app(runtime, user_id))
    return httpx2.AsyncClient(transport=transport, base_url=base_url, headers={"Origin": ORIGIN})
