"""A server whose owner has a password, and strangers who send it whatever they like, byte by byte.

With `TAVERNKIT_EDGE_FULL` set, as `make soak` does, sizes, numbers and times are those that the product promises.
"""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from http.client import HTTPResponse
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

import httpx2

from tests.playground.support.forking import Program, tavernkit
from tests.playground.support.server import ServerProcess
from tests.support.hanging import HANG_SECONDS, wait_until

__all__ = [
    "FORM",
    "FULL",
    "JSON",
    "Bystander",
    "GuardedServer",
    "answer",
    "connect",
    "head",
    "is_open",
    "send_until_closed",
]

FULL = "TAVERNKIT_EDGE_FULL" in os.environ

ASKING_EVERY_SECONDS = 0.01
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


class GuardedServer(ServerProcess):
    """`tavernkit serve` with so many descriptors and no more; only its owner may use it."""

    def __init__(self, folder: Path, *, database_url: str, descriptors: int = 1024, **settings: str) -> None:
        super().__init__(folder, model_url="", database_url=database_url, role="serve", worker="none", **settings)
        self._descriptors = descriptors

    @property
    def program(self) -> Program:
        return partial(run_with_descriptors, self._descriptors)

    def start(self) -> None:
        super().start()
        with self.browser() as owner:
            owner.post("/api/v1/me/password", json={"new_password": "three brown owls"}).raise_for_status()
            self.key = owner.post("/api/v1/api_keys", json={"name": "test"}).json()["key"]

    def browser(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, headers={"Origin": self.url}, trust_env=False, timeout=HANG_SECONDS)

    def api_client(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=HANG_SECONDS)

    def forget_peak(self) -> None:
        """Count the most memory from now on: the start takes more, and passwords do."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def memory(self, kind: str = "VmRSS") -> int:
        """What the process holds in memory now, or with `VmHWM` the most that it has held, in bytes."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{kind}:"))


def run_with_descriptors(number: int, arguments: Sequence[str]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
    tavernkit(arguments)


class Bystander:
    """Somebody who asks for a page again and again while something else happens."""

    def __init__(self, server: GuardedServer) -> None:
        self._server = server
        self._done = Event()
        self._thread = Thread(target=self._ask, daemon=True)
        self.asked = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _ask(self) -> None:
        with self._server.browser() as browser:
            while not self._done.wait(ASKING_EVERY_SECONDS):
                assert browser.get("/sign-in").status_code == 200
                self.asked += 1


def head(server: GuardedServer, target: str, *lines: str, method: str = "POST") -> bytes:
    """The head of a request that comes from one of our own pages."""
    host = server.url.removeprefix("http://")
    return "\r\n".join(
        (f"{method} {target} HTTP/1.1", f"Host: {host}", f"Origin: {server.url}", *lines, "\r\n")
    ).encode()


def connect(server: GuardedServer, data: bytes = b"") -> socket.socket:
    """A connection on which something has been sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=HANG_SECONDS)
    connection.sendall(data)
    return connection


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next answer."""
    response = HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not closed it; what it has sent is read on the way."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def send_until_closed(connection: socket.socket, piece: bytes) -> None:
    """Send the same again and again; it has to come to an end."""

    def is_closed() -> bool:
        with suppress(ConnectionError, BlockingIOError):
            connection.send(piece)
        return not is_open(connection)

    wait_until(is_closed)
