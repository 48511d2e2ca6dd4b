"""Servers and workers that die where they are told to, and start again within moments."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Literal, TypeAlias

from tests.crash.points import Points
from tests.playground.support.server import Child, ServerProcess

__all__ = ["Mortal", "Role"]

Role: TypeAlias = Literal["serve", "worker"]

READY: dict[Role, bytes] = {"serve": b"TavernKit is at", "worker": b"Working as"}


class Mortal(ServerProcess):
    """`tavernkit serve` or `tavernkit worker`, with points at which it can die."""

    def __init__(self, role: Role, folder: Path, *, model_url: str, database_url: str = "", **settings: str) -> None:
        super().__init__(folder, model_url=model_url, database_url=database_url, **settings)
        self.name = role
        self.log = folder / f"{role}.log"
        self._folder = folder / role
        self._folder.mkdir()
        self._role = role
        self._launcher: subprocess.Popen[bytes] | None = None
        self._log_begins = 0
        self.points = Points(self._folder)

    def command(self) -> list[str]:
        options = ["--port", str(self.port)] if self._role == "serve" else []
        return [sys.executable, "-m", "tests.crash.launcher", str(self._folder), self._role, *options]

    def spawn(self) -> Child:
        self._log_begins = self.log.stat().st_size if self.log.exists() else 0
        if self._launcher is None:
            with self.log.open("ab") as output:
                self._launcher = subprocess.Popen(
                    self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, bufsize=0,
                    env=self.whole_environment(),
                )  # fmt: skip
        return _Forked(self._launcher)

    def is_up(self) -> bool:
        # Asking over HTTP until it answers would keep the machine busier than the start itself.
        return READY[self._role] in self.log.read_bytes()[self._log_begins :]

    def is_dead(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def rise_again(self) -> None:
        """Start it after it has died, as it was told to; it forgets what it has passed."""
        assert self._running is not None
        assert self._running.poll() == -signal.SIGKILL
        self._running = None
        self.start()
        self.points.clear()

    def stop(self) -> None:
        super().stop()
        if self._launcher is not None:
            # It has nothing to tidy up.
            self._launcher.kill()
            self._launcher.communicate()
            self._launcher = None


class _Forked:
    """A process that the launcher has forked."""

    def __init__(self, launcher: subprocess.Popen[bytes]) -> None:
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        self._answers = launcher.stdout
        self._exit_code: int | None = None
        launcher.stdin.write(b"start\n")
        self._number = int(self._answers.readline())

    def poll(self) -> int | None:
        return self._ended(within=0)

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self._number, sig)

    def wait(self, timeout: float) -> int:
        exit_code = self._ended(within=timeout)
        if exit_code is None:
            raise subprocess.TimeoutExpired("tavernkit", timeout)
        return exit_code

    def _ended(self, *, within: float) -> int | None:
        if self._exit_code is None and select.select([self._answers], [], [], within)[0]:
            self._exit_code = int(self._answers.readline())
        return self._exit_code
