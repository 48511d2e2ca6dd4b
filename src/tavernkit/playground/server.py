"""Serving the application, and running a worker without it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from ipaddress import ip_address
from socket import AF_INET, AF_INET6, create_server, socket
from types import FrameType

import uvicorn

from tavernkit.errors import TavernKitError
from tavernkit.playground.app import create_app, worker_name
from tavernkit.playground.config import Settings
from tavernkit.playground.runs.worker import Worker
from tavernkit.playground.runtime import open_runtime

__all__ = ["PortTakenError", "UnsafeAddressError", "serve", "work"]

SHUTDOWN_SECONDS = 1


class UnsafeAddressError(TavernKitError):
    """An address that others could reach, while there are no accounts to keep them out."""


class PortTakenError(TavernKitError):
    """Somebody else listens where we would."""


class Server(uvicorn.Server):
    """Tells open streams to end as soon as a signal arrives, so that nobody waits for them."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[str], None], on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_exit = on_exit

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_exit()
        super().handle_exit(sig, frame)


def serve(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal comes; `on_ready` gets the address."""
    if not _is_loopback(settings.host):
        raise UnsafeAddressError(
            f"Serving on {settings.host} would let everybody in the network read and write here, and there are no "
            "accounts yet. Use 127.0.0.1, and a tunnel or proxy that asks for a password to reach it from elsewhere."
        )
    listening = _listen(settings.host, settings.port)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_level=settings.log_level,
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        server_header=False,
    )
    Server(config, on_ready, lambda: app.state.runtime.stopping.set()).run([listening])


async def work(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Carry out runs until a signal comes; several workers can share a PostgreSQL database."""
    async with open_runtime(settings) as runtime:
        name = worker_name()
        worker = Worker(runtime, name)
        loop = asyncio.get_running_loop()
        for sig in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sig, worker.stop)
        on_ready(name)
        await worker.run()


def _listen(host: str, port: int) -> socket:
    """Take the port before anything else is done, so that a second server touches nothing of the first one's."""
    try:
        return create_server((host, port), family=AF_INET6 if ":" in host else AF_INET)
    except OSError as error:
        raise PortTakenError(
            f"The port {port} on {host} cannot be used ({error.strerror}). Is TavernKit running already? "
            "Otherwise choose another one with --port."
        ) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
