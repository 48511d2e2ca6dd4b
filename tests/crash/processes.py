"""Servers and workers that die where they are told to, and start again within moments."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

from tests.crash.points import Points
from tests.crash.programs import run_with_points
from tests.playground.support.forking import Program
from tests.playground.support.server import Role, ServerProcess
from tests.support.hanging import wait_until

__all__ = ["Mortal"]


class Mortal(ServerProcess):
    """`tavernkit serve` or `tavernkit worker`, with points at which it can die."""

    def __init__(self, role: Role, folder: Path, *, model_url: str, database_url: str = "", **settings: str) -> None:
        super().__init__(folder, model_url=model_url, database_url=database_url, role=role, name=role, **settings)
        self._folder = folder / role
        self._folder.mkdir()
        self.points = Points(self._folder)

    @property
    def program(self) -> Program:
        return partial(run_with_points, self._folder)

    def is_dead(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def begin(self) -> None:
        """Start it without waiting: it is to die on its way up."""
        assert self._running is None
        self._log_begins = self.log.stat().st_size
        self._running = self.spawn()

    def rise_again(self) -> None:
        """Start it after it has died, as it was told to; where it is to die on its way up, it may."""
        assert self._running is not None
        assert self._running.poll() == -signal.SIGKILL, self.log_tail()
        self._log_begins = self.log.stat().st_size
        child = self._running = self.spawn()
        wait_until(lambda: self.is_up() or child.poll() is not None)
