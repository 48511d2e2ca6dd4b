"""Servers and workers that die where they are told to, and start again within moments."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from tests.crash.points import Points
from tests.crash.programs import run_with_points
from tests.playground.support.forking import Forked
from tests.playground.support.server import Child, ServerProcess

__all__ = ["Mortal", "Role"]

Role: TypeAlias = Literal["serve", "worker"]

READY: dict[Role, str] = {"serve": "TavernKit is at", "worker": "Working as"}


class Mortal(ServerProcess):
    """`tavernkit serve` or `tavernkit worker`, with points at which it can die."""

    def __init__(self, role: Role, folder: Path, *, model_url: str, database_url: str = "", **settings: str) -> None:
        super().__init__(folder, model_url=model_url, database_url=database_url, **settings)
        self.name = role
        self.log = folder / f"{role}.log"
        self._folder = folder / role
        self._folder.mkdir()
        self._role = role
        self.points = Points(self._folder)

    def spawn(self) -> Child:
        options = ["--port", str(self.port)] if self._role == "serve" else []
        program = partial(run_with_points, self._folder)
        return Forked(program, [self._role, *options], self.whole_environment(), self.log)

    def is_up(self) -> bool:
        return self.has_said(READY[self._role])

    def is_dead(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def rise_again(self) -> None:
        """Start it after it has died, as it was told to; it forgets what it has passed."""
        assert self._running is not None
        assert self._running.poll() == -signal.SIGKILL
        self._running = None
        self.start()
        self.points.clear()
