"""Serving the application, and running a worker without it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from socket import AF_INET, AF_INET6, create_server, gethostname, socket
from typing import TypeAlias

import uvicorn

from tavernkit.errors import TavernKitError
from tavernkit.extensions import load_extensions
from tavernkit.playground.base.accounts.queries import can_sign_in_as_administrator
from tavernkit.playground.base.accounts.tokens import new_invitation_code
from tavernkit.playground.base.administration.restoring import restore_staged
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.reachable import wait_until_reachable
from tavernkit.playground.base.jobs.worker import JobWorker
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.edge.connections import ACCEPTED_AT_ONCE, BoundedProtocol, BoundedServer
from tavernkit.playground.story.background import job_worker
from tavernkit.playground.story.providers.service import check_key
from tavernkit.playground.story.replies.worker import Worker
from tavernkit.playground.story.seeding import seed

SHUTDOWN_SECONDS = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM)

OnReady: TypeAlias = Callable[[str, str], None]
"""Gets the address, and the code that makes the first account, where one is needed."""


class PortTakenError(TavernKitError):
    """Somebody else listens where we would."""


class Server(BoundedServer):
    """A server that leaves what happens after it to us, and ends its streams at the first signal."""

    def __init__(self, config: uvicorn.Config, runtime: Runtime, on_ready: OnReady) -> None:
        super().__init__(config, silent_seconds=runtime.settings.silent_seconds)
        self._runtime = runtime
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/", self._runtime.setup_code)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn's own would raise the signal again behind itself, and nothing could be handed back any more.
        with _at_signal(self._leave):
            yield

    def _leave(self, sig: int) -> None:
        self._runtime.stopping.set()
        self.handle_exit(sig, None)


def serve(settings: AppConfig, on_ready: OnReady) -> None:
    """Serve until a signal comes."""
    load_extensions(settings.extension_modules)
    # The port is taken before anything that lasts, so that a second server touches nothing of the first one's.
    with _listen(settings.host, settings.port) as listening:
        asyncio.run(_serve(settings, listening, on_ready))


async def _serve(settings: AppConfig, listening: socket, on_ready: OnReady) -> None:
    if not await _reached(settings):
        return
    await restore_staged(settings, datetime.now(UTC))
    async with open_runtime(settings) as runtime:
        await check_key(runtime)
        owner = await seed(runtime)
        await _lock_out_strangers(runtime)
        config = uvicorn.Config(
            create_app(runtime, owner.id),
            lifespan="off",
            http=BoundedProtocol,
            ws="none",
            backlog=ACCEPTED_AT_ONCE,
            log_level=settings.log_level,
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            server_header=False,
            # Both are always given: by default, everybody on this machine and an environment variable are trusted.
            proxy_headers=bool(settings.proxy_networks),
            forwarded_allow_ips=settings.proxy_networks,
        )
        workers = _workers(runtime, _worker_name()) if settings.worker == "embedded" else ()
        working = [asyncio.create_task(worker.run()) for worker in workers]
        # What is loaded by now stays. Looking through it again whenever a long file is read would hold up all requests.
        gc.collect()
        gc.freeze()
        try:
            await Server(config, runtime, on_ready).serve([listening])
        finally:
            for worker in workers:
                worker.stop()
            await asyncio.gather(*working)


@contextmanager
def _at_signal(act: Callable[[int], None]) -> Iterator[None]:
    """Meanwhile, have this done when somebody wants us to end."""
    loop = asyncio.get_running_loop()
    for sig in SIGNALS:
        loop.add_signal_handler(sig, act, sig)
    try:
        yield
    finally:
        for sig in SIGNALS:
            loop.remove_signal_handler(sig)


async def _reached(settings: AppConfig) -> bool:
    """Wait for a database that is away; False when a signal comes first."""
    stopping = asyncio.Event()
    with _at_signal(lambda _: stopping.set()):
        return await wait_until_reachable(settings.resolved_database_url, stopping)


async def _lock_out_strangers(runtime: Runtime) -> None:
    """Where others can reach us and nobody can sign in yet, only a code that is shown here makes the first account."""
    if runtime.settings.is_local:
        return
    async with runtime.database.read() as session:
        if not await can_sign_in_as_administrator(session):
            runtime.setup_code = new_invitation_code()


async def work(settings: AppConfig, on_ready: Callable[[str], None]) -> None:
    """Carry out runs and jobs until a signal comes; several workers can share a PostgreSQL database."""
    load_extensions(settings.extension_modules)
    if not await _reached(settings):
        return
    async with open_runtime(settings) as runtime:
        await check_key(runtime)
        name = _worker_name()
        workers = _workers(runtime, name)

        def leave() -> None:
            for worker in workers:
                worker.stop()

        for sig in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(sig, leave)
        on_ready(name)
        await asyncio.gather(*(worker.run() for worker in workers))


def _workers(runtime: Runtime, name: str) -> tuple[Worker, JobWorker]:
    return Worker(runtime, name), job_worker(runtime, name)


def _listen(host: str, port: int) -> socket:
    try:
        return create_server((host, port), family=AF_INET6 if ":" in host else AF_INET)
    except OSError as error:
        raise PortTakenError(
            f"The port {port} on {host} cannot be used ({error.strerror}). Is TavernKit running already? "
            "Otherwise choose another one with --port."
        ) from error


def _worker_name() -> str:
    """Where a run is being carried out, for whoever looks at it later."""
    return f"{gethostname()}:{os.getpid()}"[:100]
