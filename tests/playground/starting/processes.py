"""`tavernkit serve` and `tavernkit worker` as processes whose clock a test sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

from tavernkit.playground.base.runtime import open_runtime
from tavernkit.playground.edge import server
from tavernkit.playground.story.replies import worker
from tests.playground.support.forking import Program, tavernkit
from tests.playground.support.server import Role, ServerProcess

__all__ = ["Clocked"]


class Clocked(ServerProcess):
    """A process whose time of day is off by what the test says, also while it runs."""

    def __init__(self, role: Role, name: str, folder: Path, *, model_url: str = "", **settings: str) -> None:
        super().__init__(folder, model_url=model_url, role=role, name=name, **settings)
        self._offset = folder / f"{name}.offset"
        self.set_clock(0)

    def set_clock(self, seconds: float) -> None:
        """Let the clock of the process be ahead by so much from now on."""
        # In one step, for the process may look at any time.
        written = self._offset.with_suffix(".new")
        written.write_text(str(seconds))
        written.rename(self._offset)

    @property
    def program(self) -> Program:
        return partial(run_with_clock, self._offset)


def run_with_clock(offset: Path, arguments: Sequence[str]) -> None:
    """Run a command whose clock is ahead by the seconds that a file says."""

    def clock() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(offset.read_text()))

    with (
        patch.object(server, "open_runtime", partial(open_runtime, clock=clock)),
        # So that nobody waits long for a reply that has been written down in part.
        patch.object(worker, "CHECKPOINT_SECONDS", 0.05),
    ):
        tavernkit(arguments)
