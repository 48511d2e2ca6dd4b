"""Model clients, one per provider, made when they are first needed."""

from __future__ import annotations

import asyncio
from typing import TypeAlias
from uuid import UUID

from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ModelClient, ModelError
from tavernkit.playground.base.llm.http_model import Timeouts
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.base.llm.kinds.embedded import EmbeddedModel
from tavernkit.playground.base.llm.secrets import KeyBox

_Way: TypeAlias = tuple[UUID, str, str, bytes | None, bool, Timeouts]
"""All that a client depends on."""


class ProviderClients:
    """Keeps connections, and the embedded model's process, between runs."""

    def __init__(self, keys: KeyBox) -> None:
        self._keys = keys
        self._embedded = EmbeddedModel()
        self._clients: dict[_Way, ModelClient] = {}

    def client_for(self, provider: Provider) -> ModelClient:
        """The provider's client. Raises ModelError for a key that cannot be opened."""
        kind = kind_of(provider)
        if kind.client is None:
            return self._embedded
        # A changed address or key makes another client; the old one is closed with the rest.
        timeouts = kind.timeouts.with_(**provider.timeouts)
        way = (provider.id, provider.kind, provider.base_url, provider.api_key, provider.streamable, timeouts)
        if way not in self._clients:
            self._clients[way] = kind.client(
                provider.base_url, self._secret(provider), streams=provider.streamable, timeouts=timeouts
            )
        return self._clients[way]

    @property
    def has_embedded(self) -> bool:
        return self._embedded.is_available

    def is_ready(self, provider: Provider) -> bool:
        return not kind_of(provider).is_built_in or self._embedded.is_loaded

    async def aclose(self) -> None:
        await asyncio.gather(self._embedded.aclose(), *(client.aclose() for client in self._clients.values()))

    def _secret(self, provider: Provider) -> str | None:
        if provider.api_key is None:
            return None
        secret = self._keys.decrypt(provider.api_key, provider.id)
        if secret is None:
            raise ModelError(
                _(
                    "The API key of {name} cannot be decrypted: it was stored with a different secret key. Give all "
                    "processes the same secret.key or TAVERNKIT_SECRET_KEY, or enter the API key again.",
                    name=provider.name,
                ),
                code="unavailable",
            )
        return secret
