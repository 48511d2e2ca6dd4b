"""What every service needs: settings, database, bus, models, and the sources of time and ids."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID, uuid4

from tavernkit.artifacts.pipelines import STEP_FUNCTIONS, StepFunctions
from tavernkit.load_hooks import run_load_hooks
from tavernkit.playground.base.config import AppConfig, default_data_dir
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.engine import Connections
from tavernkit.playground.base.database.lease_clock import LeaseClock, open_lease_clock
from tavernkit.playground.base.database.migrate import upgrade
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.base import ModelClient
from tavernkit.playground.base.llm.clients import ProviderClients
from tavernkit.playground.base.llm.secrets import KeyBox, open_keys
from tavernkit.playground.base.passwords import Passwords
from tavernkit.playground.base.private_files import make_private
from tavernkit.playground.base.realtime.bus import Bus
from tavernkit.playground.base.realtime.postgres_bus import PostgresBus
from tavernkit.playground.base.realtime.presence import Presence
from tavernkit.playground.base.realtime.sharing import SharedWork
from tavernkit.playground.base.supervision import Loops


class Models(Protocol):
    """Finds the client that talks to a provider."""

    def client_for(self, provider: Provider) -> ModelClient: ...

    @property
    def has_embedded(self) -> bool:
        """Whether the model that needs no provider is installed."""

    def is_ready(self, provider: Provider) -> bool:
        """False while the model has yet to be loaded."""

    async def aclose(self) -> None: ...


@dataclass(eq=False)
class Runtime:
    """One running application, or one worker. `live_text` is what runs in this process have generated so far;
    `functions` are what steps of the kind `python` may call; `loops` are those of the worker in this process.
    `presence` knows who has which conversation open.

    `setup_code` is what makes the first account over the network, where nobody has one yet.
    `clock` is the time of day that is shown; leases and due times go by `lease_clock`, which all processes share.
    """

    settings: AppConfig
    database: Database
    bus: Bus
    models: Models
    keys: KeyBox
    clock: Callable[[], datetime]
    lease_clock: LeaseClock
    ids: Callable[[], UUID]
    passwords: Passwords = field(default_factory=Passwords)
    shared: SharedWork = field(default_factory=SharedWork)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    live_text: dict[UUID, str] = field(default_factory=dict)
    functions: StepFunctions = field(default_factory=StepFunctions)
    loops: Loops = field(default_factory=Loops)
    setup_code: str = ""
    presence: Presence = field(init=False)

    def __post_init__(self) -> None:
        self.presence = Presence(self.bus, lambda: self.clock())

    def apart(self, connections: Connections) -> Runtime:
        """The same application through other connections to the database."""
        other = copy.copy(self)
        other.database = self.database.apart(connections)
        return other


@asynccontextmanager
async def open_runtime(
    settings: AppConfig,
    *,
    models: Models | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ids: Callable[[], UUID] = uuid4,
) -> AsyncIterator[Runtime]:
    """Migrate the database, connect everything, and take it all down again at the end."""
    url, patience = settings.resolved_database_url, settings.database_patience_seconds
    if settings.data_dir == default_data_dir():
        # Any other folder may be there for more than us.
        make_private(settings.data_dir)
    await upgrade(url)
    bus: Bus = PostgresBus(url, patience=patience) if url.startswith("postgresql") else Bus()
    async with AsyncExitStack() as opened:
        database = Database(url, bus, patience=patience)
        opened.push_async_callback(database.close)
        lease_clock = await opened.enter_async_context(open_lease_clock(database, url, clock))
        keys = await open_keys(settings, database)
        await bus.start()
        opened.push_async_callback(bus.close)
        clients: Models = ProviderClients(keys) if models is None else models
        opened.push_async_callback(clients.aclose)
        runtime = Runtime(
            settings,
            database=database,
            bus=bus,
            models=clients,
            keys=keys,
            clock=clock,
            lease_clock=lease_clock,
            ids=ids,
        )
        run_load_hooks(STEP_FUNCTIONS, runtime.functions)
        yield runtime
