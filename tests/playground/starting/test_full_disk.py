"""A first start on a full disk says so, and leaves nothing behind that keeps the next one from starting."""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from tests.playground.support.forking import Forked, tavernkit
from tests.support.hanging import HANG_SECONDS

WITHOUT_ROOM = 0
WITH_HALF_OF_THE_TABLES = 300_000


def serve(folder: Path, database_url: str, room: int = resource.RLIM_INFINITY) -> tuple[int, str]:
    """Serve until it is ready, or ends by itself; no file can grow beyond the room. The exit code, and what it said.

    What it says goes through a pipe: a log file could not grow either.
    """
    pipe = folder.with_name(f"{uuid4().hex}.pipe")
    os.mkfifo(pipe)
    others = {name: value for name, value in os.environ.items() if not name.startswith("TAVERNKIT_")}
    environment = {**others, "TAVERNKIT_DATA_DIR": str(folder), "TAVERNKIT_DATABASE_URL": database_url}
    process = Forked(partial(run_with_room, room), ["serve", "--port", "0"], environment, pipe)
    said = ""
    with pipe.open() as lines:
        for line in lines:
            said += line
            if line.startswith("TavernKit is running at"):
                process.send_signal(signal.SIGTERM)
    return process.wait(HANG_SECONDS), said


def run_with_room(room: int, arguments: Sequence[str]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    tavernkit(arguments)


@pytest.mark.parametrize("room", [WITHOUT_ROOM, WITH_HALF_OF_THE_TABLES])
def test_a_first_start_on_a_full_disk_is_made_up_for_by_the_next(tmp_path: Path, room: int) -> None:
    folder = tmp_path / "data"
    code, said = serve(folder, "", room)
    assert (code, said.count("\n"), said.startswith("tavernkit: The disk is full")) == (2, 1, True), said
    code, said = serve(folder, "")
    assert (code, "TavernKit is running at" in said) == (0, True), said
    assert_private(folder)


def test_a_secret_key_is_written_whole_or_not_at_all(tmp_path: Path, migrated_postgres_url: str) -> None:
    folder = tmp_path / "data"
    code, said = serve(folder, migrated_postgres_url, WITHOUT_ROOM)
    assert (code, said.count("\n"), "Make room" in said) == (2, 1, True), said
    assert list(folder.iterdir()) == []
    code, said = serve(folder, migrated_postgres_url)
    assert (code, "TavernKit is running at" in said) == (0, True), said
    assert len((folder / "secret.key").read_bytes()) == 32
    assert_private(folder)


def assert_private(folder: Path) -> None:
    """Nobody but the owner can enter the folder or read anything in it."""
    assert {path: stat.filemode(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {
        folder: "drwx------",
        **dict.fromkeys(folder.iterdir(), "-rw-------"),
    }
