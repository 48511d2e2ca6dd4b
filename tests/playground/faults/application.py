"""An application with real model clients, whose provider is a scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
from pydantic import SecretStr

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Provider, Run
from tavernkit.playground.base.runtime import open_runtime
from tavernkit.playground.story.providers.documents import NewProvider, PatchProvider, TimeoutsIn
from tavernkit.playground.story.providers.service import add_provider, change_provider, make_default
from tavernkit.playground.story.replies.actions import retry
from tests.playground.stories import Story, one_story
from tests.support.hanging import eventually

__all__ = ["KEY", "PATHS", "PATIENT", "ProviderPlay", "application"]

KEY = "sk-7f3a91c2d8"
PATHS = {"openai": "/v1", "openai_text": "/v1", "anthropic": "/v1", "google": "/v1beta"}
"""Where the scripted server speaks the protocol of each kind of provider."""

PATIENT = TimeoutsIn(first_byte=60, between_chunks=60)
"""For servers that are only busy."""


class ProviderPlay(Story):
    """A play in which the default provider is a server at this address."""

    address: str
    provider_id: UUID

    async def until_left(self) -> None:
        """Wait until the provider has seen that nobody listens to its reply any more."""
        await eventually(self._is_left)

    async def ended(self) -> Run:
        """The newest run, once it is over."""
        return await self.until(lambda run: run.status not in ("queued", "running"))

    async def again(self) -> Run:
        """What becomes of the reply when the person asks for it once more, and has patience."""
        before = (await self.run()).id
        patch = PatchProvider.model_validate({"settings_version": 0, "timeouts": PATIENT.model_dump()})
        await change_provider(self.runtime, self._administrator, self.provider_id, patch)
        planned = await retry(self.runtime, self.viewer, self.conversation_id)
        assert planned.id != before
        return await self.ended()

    async def use_provider(self, address: str, kind: Any, **fields: Any) -> None:
        """Let the server at this address answer from now on."""
        self.address = address
        new = NewProvider(name="Wired", kind=kind, base_url=address + PATHS[kind], api_key=SecretStr(KEY), **fields)
        row = await add_provider(self.runtime, self._administrator, new)
        assert isinstance(row, Provider), row
        self.provider_id = row.id
        await make_default(self.runtime, self._administrator, row.id)

    @property
    def _administrator(self) -> Viewer:
        return Viewer(user_id=self.user_id, role="administrator")

    async def _is_left(self) -> bool:
        async with httpx2.AsyncClient(trust_env=False) as http:
            return bool((await http.get(f"{self.address}/_closed")).json())


@asynccontextmanager
async def application(
    url: str, folder: Path, address: str, *, kind: Any = "openai", timeouts: TimeoutsIn = PATIENT, **fields: Any
) -> AsyncIterator[ProviderPlay]:
    """An application with the bundled story, a worker, and the server at this address as its provider."""
    chosen = AppConfig(data_dir=folder, database_url=url, lease_seconds=600, heartbeat_seconds=0.1)
    async with open_runtime(chosen) as runtime:
        play = ProviderPlay(runtime, *await one_story(runtime))
        await play.use_provider(address, kind, timeouts=timeouts, **fields)
        async with play.working():
            yield play
