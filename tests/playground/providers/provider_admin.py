"""An application with real model clients, as an administrator sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tests.playground.stories import one_story
from tests.playground.support.web import api_client

__all__ = ["ProviderAdmin", "open_provider_admin"]


class ProviderAdmin:
    """The application and its API."""

    def __init__(self, runtime: Runtime, owner_id: UUID, api: httpx2.AsyncClient) -> None:
        self.runtime = runtime
        self.api = api
        self.administrator = Viewer(user_id=owner_id, role="administrator")
        self.member = Viewer(user_id=owner_id, role="member")

    async def ask(self, method: str, path: str = "", status: int = 200, **options: Any) -> Any:
        answer = await self.api.request(method, f"/providers{path}", **options)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def add(self, **fields: Any) -> Any:
        new = {"name": "Desk", "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m", **fields}
        return await self.ask("POST", json=new, status=201)

    async def rows(self) -> dict[str, Provider]:
        async with self.runtime.database.read() as session:
            return {row.name: row for row in await session.scalars(select(Provider))}

    async def row(self, provider_id: str) -> Provider:
        async with self.runtime.database.read() as session:
            return await session.get_one(Provider, UUID(provider_id))


@asynccontextmanager
async def open_provider_admin(url: str, folder: Path, **settings: Any) -> AsyncIterator[ProviderAdmin]:
    async with open_runtime(AppConfig(data_dir=folder, database_url=url, **settings)) as runtime:
        owner_id, _ = await one_story(runtime)
        async with api_client(runtime, owner_id) as api:
            yield ProviderAdmin(runtime, owner_id, api)
