"""`tavernkit` with points at which it can die."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from tavernkit.playground.base.jobs import worker as job_worker
from tavernkit.playground.story.migration import importing, long_chats
from tavernkit.playground.story.paths import state as path_state
from tavernkit.playground.story.replies import worker
from tests.crash.points import Points, watched_restore, watched_writes
from tests.playground.support.forking import tavernkit

__all__ = ["run_with_points"]

# Replies are short here, and yet have to be written down on the way; stories are too, and yet have to have snapshots.
CHECKPOINT_SECONDS = 0.05
SNAPSHOT_EVERY = 1
# Folders are small as well, and yet have to be imported in several steps, with chats that are not read as a whole.
ITEMS_AT_ONCE = 3
LONG_CHAT_BYTES = 5_000
PIECE_MESSAGES = 40
# On SQLite nobody is told of jobs that another process asks for.
IDLE_SECONDS = 0.05


def run_with_points(folder: Path, arguments: Sequence[str]) -> None:
    """Run a command, with its points in the folder."""
    with (
        watched_writes(Points(folder)),
        watched_restore(Points(folder)),
        patch.object(worker, "CHECKPOINT_SECONDS", CHECKPOINT_SECONDS),
        patch.object(path_state, "EVERY", SNAPSHOT_EVERY),
        patch.object(job_worker, "IDLE_SECONDS", IDLE_SECONDS),
        patch.object(importing, "ITEMS_AT_ONCE", ITEMS_AT_ONCE),
        patch.object(importing, "LONG_CHAT_BYTES", LONG_CHAT_BYTES),
        patch.object(long_chats, "PIECE_MESSAGES", PIECE_MESSAGES),
    ):
        tavernkit(arguments)
