"""`tavernkit` as a process that may die often: it is imported once, and forked for every start.

    python -m tests.crash.launcher FOLDER serve --port 8420

Each line of standard input asks for a start. The answers are the number of the process and, once it is over, its exit
code. What the process itself prints goes to standard error.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from unittest.mock import patch

from tavernkit.cli.app import app
from tavernkit.playground.paths import snapshots
from tavernkit.playground.runs import executor
from tests.crash.points import Points, watched_writes

__all__ = ["main"]

# Replies are short here, and yet have to be written down on the way; stories are too, and yet have to have snapshots.
CHECKPOINT_SECONDS = 0.15
SNAPSHOT_EVERY = 1


def main() -> None:
    folder, *arguments = sys.argv[1:]
    # The commands import it only when they are called, which would be after the fork.
    importlib.import_module("tavernkit.playground.server")
    for _ in sys.stdin:
        process = os.fork()
        if process == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            with (
                watched_writes(Points(Path(folder))),
                patch.object(executor, "CHECKPOINT_SECONDS", CHECKPOINT_SECONDS),
                patch.object(snapshots, "EVERY", SNAPSHOT_EVERY),
            ):
                app(arguments, prog_name="tavernkit")
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
