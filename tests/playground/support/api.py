"""The API of an application in this process, as a program of its owner's uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx2
from fastapi import APIRouter

from tavernkit.playground.base.runtime import Runtime
from tests.playground.support.web import ORIGIN, api_client

__all__ = ["ORIGIN", "asking"]


@asynccontextmanager
async def asking(runtime: Runtime, user_id: UUID, *_: APIRouter) -> AsyncIterator[httpx2.AsyncClient]:
    """As `api_client`, which has all routes: naming some is not needed."""
    async with api_client(runtime, user_id) as client:
        yield client
