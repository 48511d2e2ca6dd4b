"""The application and a scripted model as real processes, the way a person runs them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

import pytest

from tests.playground.support.forking import Forked, Program, tavernkit
from tests.support.hanging import HANG_SECONDS, wait_until

__all__ = ["Child", "Process", "Role", "ScriptedModel", "ServerProcess", "running", "scripted_model"]

_P = TypeVar("_P", bound="Process")

Role: TypeAlias = Literal["serve", "worker"]

# With the space behind it, a traceback that quotes the source is not taken for it.
_READY: dict[Role, str] = {"serve": "TavernKit is running at ", "worker": "Worker started: "}
_LOG_LINES_SHOWN = 80


class Child(Protocol):
    """What has been started, as `subprocess` gives it."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def send_signal(self, sig: int) -> None: ...

    def wait(self, timeout: float) -> int: ...


class Process:
    """A process that listens on a port of its own and logs to a file; a subclass knows how to start it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.port = _free_port()
        self.log = folder / f"{name}.log"
        self._running: Child | None = None
        self._log_begins = 0

    @property
    def url(self) -> str:
        """The address without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._running is not None, f"the {self.name} is not running"
        return self._running.pid

    def spawn(self) -> Child:
        """Start without waiting for anything."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """What the process finds in its environment besides what everybody has."""
        return {}

    def is_up(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Start and wait until it answers."""
        assert self._running is None, f"the {self.name} is already running"
        self._log_begins = self.log.stat().st_size if self.log.exists() else 0
        child = self._running = self.spawn()
        wait_until(lambda: self.is_up() or child.poll() is not None)
        if not self.is_up():
            self._running = None
            raise RuntimeError(f"The {self.name} did not start:\n{self.log_tail()}")

    def whole_environment(self) -> dict[str, str]:
        """What the process finds in its environment."""
        common = {name: value for name, value in os.environ.items() if not name.startswith("TAVERNKIT_")}
        return {**common, "PYTHONUNBUFFERED": "1", **self.environment()}

    def ensure_started(self) -> None:
        """Start unless it is running."""
        if self._running is None:
            self.start()

    def terminate(self) -> None:
        """Ask it to stop, and wait until it has."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would: it can neither tidy up nor say goodbye."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Ask it to stop, and start it again at the same address."""
        self.terminate()
        self.start()

    def stop(self) -> None:
        """Ask it to stop if it is running, and make sure that it has."""
        if self._running is not None:
            try:
                self.terminate()
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def has_said(self, words: str) -> bool:
        """Whether it has written something since its start."""
        if not self.log.exists():
            return False
        with self.log.open("rb") as log:
            log.seek(self._log_begins)
            return words.encode() in log.read()

    def log_tail(self) -> str:
        """The last lines it wrote."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:])

    def _end(self, sign: signal.Signals) -> None:
        assert self._running is not None, f"the {self.name} is not running"
        self._running.send_signal(sign)
        self._running.wait(HANG_SECONDS)
        self._running = None


class ScriptedModel(Process):
    """A model that answers as the message to it says."""

    def __init__(self, folder: Path, *, delay: float) -> None:
        super().__init__("scripted model", folder)
        self._delay = delay

    @property
    def base_url(self) -> str:
        """The address that an OpenAI-style client is given."""
        return f"{self.url}/v1"

    def spawn(self) -> Child:
        options = ["--port", str(self.port), "--delay", str(self._delay)]
        command = [sys.executable, "-m", "tavernkit.cli", "scripted-provider", *options]
        with self.log.open("ab") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.whole_environment()
            )

    def is_up(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class ServerProcess(Process):
    """`tavernkit serve` with a data folder of its own, a given model, and an SQLite file unless a database is named; or
    `tavernkit worker`."""

    def __init__(
        self,
        folder: Path,
        *,
        model_url: str,
        database_url: str = "",
        role: Role = "serve",
        name: str = "server",
        **settings: str,
    ) -> None:
        super().__init__(name, folder)
        self._role: Role = role
        self._environment = {
            "TAVERNKIT_DATA_DIR": str(folder / "data"),
            "TAVERNKIT_DATABASE_URL": database_url,
            "TAVERNKIT_OPENAI_BASE_URL": model_url,
            "TAVERNKIT_OPENAI_MODEL": "scripted",
            # A busy machine must not cost anybody a lease. Who kills a process lets its leases age.
            "TAVERNKIT_LEASE_SECONDS": "600",
            "TAVERNKIT_HEARTBEAT_SECONDS": "0.5",
            **{f"TAVERNKIT_{name.upper()}": value for name, value in settings.items()},
        }

    @property
    def database_url(self) -> str:
        """The address of its database, also where it has chosen that itself."""
        file = Path(self._environment["TAVERNKIT_DATA_DIR"]) / "tavernkit.db"
        return self._environment["TAVERNKIT_DATABASE_URL"] or f"sqlite+aiosqlite:///{file}"

    @property
    def program(self) -> Program:
        """What runs in the process."""
        return tavernkit

    def spawn(self) -> Child:
        options = ["--port", str(self.port)] if self._role == "serve" else []
        return Forked(self.program, [self._role, *options], self.whole_environment(), self.log)

    def environment(self) -> Mapping[str, str]:
        return self._environment

    def is_up(self) -> bool:
        # Asking over HTTP until it answers would keep the machine busier than the start itself.
        return self.has_said(_READY[self._role])


@contextmanager
def running(process: _P) -> Iterator[_P]:
    """Start a process, and stop it at the end; one that has logged a traceback by then is not well."""
    process.start()
    try:
        yield process
    finally:
        process.stop()
    assert "Traceback" not in process.log.read_text()


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedModel]:
    """One scripted model for all tests; it keeps nothing between two requests."""
    with running(ScriptedModel(tmp_path_factory.mktemp("scripted-model"), delay=0.02)) as model:
        yield model


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the processes of a test that failed have written."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for value in item.funcargs.values():
            if isinstance(value, Process):
                report.sections.append((f"log of the {value.name}", value.log_tail()))
    return report


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
