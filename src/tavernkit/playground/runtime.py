"""What every service needs: settings, database, bus, models, and the sources of time and ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID, uuid4

from tavernkit.artifacts.pipelines import STEP_FUNCTIONS, StepFunctions
from tavernkit.load_hooks import run_load_hooks
from tavernkit.playground.accounts.passwords import Passwords
from tavernkit.playground.accounts.tries import SignInTries
from tavernkit.playground.config import Settings
from tavernkit.playground.database import Database
from tavernkit.playground.database.migrate import upgrade
from tavernkit.playground.database.models import Provider
from tavernkit.playground.llm.base import ModelClient
from tavernkit.playground.providers.clients import ProviderClients
from tavernkit.playground.providers.secrets import KeyBox
from tavernkit.playground.realtime.bus import Bus, LocalBus
from tavernkit.playground.realtime.postgres_bus import PostgresBus
from tavernkit.playground.realtime.sharing import SharedWork

__all__ = ["Models", "Runtime", "open_runtime"]


class Models(Protocol):
    """Finds the client that talks to a provider."""

    def client_for(self, provider: Provider) -> ModelClient: ...

    def is_ready(self, provider: Provider) -> bool:
        """False while the model has yet to be loaded."""

    async def aclose(self) -> None: ...


class Runtime:
    """One running application, or one worker. `live_text` is what runs in this process have generated so far;
    `functions` are what steps of the kind `python` may call."""

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        bus: Bus,
        models: Models,
        keys: KeyBox,
        clock: Callable[[], datetime],
        ids: Callable[[], UUID],
    ) -> None:
        self.settings = settings
        self.database = database
        self.bus = bus
        self.models = models
        self.keys = keys
        self.clock = clock
        self.ids = ids
        self.passwords = Passwords()
        self.tries = SignInTries()
        self.shared = SharedWork()
        self.stopping = asyncio.Event()
        self.live_text: dict[UUID, str] = {}
        self.functions = StepFunctions()


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    models: Models | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ids: Callable[[], UUID] = uuid4,
) -> AsyncIterator[Runtime]:
    """Migrate the database, connect everything, and take it all down again at the end."""
    url = settings.resolved_database_url
    await upgrade(url)
    keys = KeyBox.in_folder(settings.data_dir)
    bus: Bus = PostgresBus(url) if url.startswith("postgresql") else LocalBus()
    database = Database(url, bus)
    clients: Models = ProviderClients(keys) if models is None else models
    await bus.start()
    try:
        runtime = Runtime(settings, database=database, bus=bus, models=clients, keys=keys, clock=clock, ids=ids)
        run_load_hooks(STEP_FUNCTIONS, runtime.functions)
        yield runtime
    finally:
        await clients.aclose()
        await bus.close()
        await database.close()
