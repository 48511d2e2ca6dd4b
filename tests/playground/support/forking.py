"""`tavernkit` as a process of its own that starts within moments: it is imported once, and forked for every start."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tavernkit.cli.app import app

__all__ = ["Forked", "Program", "tavernkit"]

# What a forked process does with the arguments of its command line.
Program: TypeAlias = Callable[[Sequence[str]], None]

_FORKS = multiprocessing.get_context("forkserver")
# The commands import it only when they are called, which would be after the fork.
_FORKS.set_forkserver_preload([__name__, "tavernkit.playground.edge.server", "tests.playground.support.warm"])


class Forked:
    """A process that a program runs in, with the arguments and in the environment given, writing into a file."""

    def __init__(self, program: Program, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._process = _FORKS.Process(target=_become, args=(program, arguments, environment, log), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, sig: int) -> None:
        if self._process.pid is not None and self.poll() is None:
            os.kill(self._process.pid, sig)

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        exit_code = self.poll()
        if exit_code is None:
            raise subprocess.TimeoutExpired("tavernkit", timeout)
        return exit_code


def tavernkit(arguments: Sequence[str]) -> None:
    """The command line, as people run it."""
    app(arguments, prog_name="tavernkit")


def _become(program: Program, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with log.open("ab", buffering=0) as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - as long as the process
    program(arguments)
