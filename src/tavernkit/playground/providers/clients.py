"""Model clients, one per provider, made when they are first needed."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tavernkit.playground.database.models import Provider
from tavernkit.playground.llm.base import ModelClient
from tavernkit.playground.llm.embedded import EmbeddedModel
from tavernkit.playground.llm.openai import OpenAIClient
from tavernkit.playground.providers.secrets import KeyBox

__all__ = ["ProviderClients"]


class ProviderClients:
    """Keeps connections, and the embedded model's process, between runs."""

    def __init__(self, keys: KeyBox) -> None:
        self._keys = keys
        self._embedded = EmbeddedModel()
        self._clients: dict[tuple[UUID, str, bytes | None], ModelClient] = {}

    def client_for(self, provider: Provider) -> ModelClient:
        if provider.kind == "embedded":
            return self._embedded
        # A changed address or key makes another client; the old one is closed with the rest.
        key = (provider.id, provider.base_url, provider.api_key)
        if key not in self._clients:
            secret = self._keys.decrypt(provider.api_key, provider.id) if provider.api_key else None
            self._clients[key] = OpenAIClient(provider.base_url, secret)
        return self._clients[key]

    def is_ready(self, provider: Provider) -> bool:
        return provider.kind != "embedded" or self._embedded.is_loaded

    async def aclose(self) -> None:
        await asyncio.gather(self._embedded.aclose(), *(client.aclose() for client in self._clients.values()))
