"""A limit on the size of files, as `ulimit -f` sets it, is answered as a full disk is."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.playground.overload.program import Program, book_of
from tests.playground.support.forking import Program as ForkedProgram
from tests.playground.support.forking import tavernkit
from tests.playground.support.server import ScriptedModel, ServerProcess

LIMIT_BYTES = 6 * 1024 * 1024


class LimitedServer(ServerProcess):
    """A server whose files may not grow beyond a limit."""

    limit = LIMIT_BYTES

    @property
    def program(self) -> ForkedProgram:
        return partial(limited, self.limit)


def limited(limit: int, arguments: Sequence[str]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    tavernkit(arguments)


@pytest.fixture
def server(tmp_path: Path, sqlite_url: str, scripted_model: ScriptedModel) -> Iterator[LimitedServer]:
    server = LimitedServer(tmp_path, model_url=scripted_model.base_url, database_url=sqlite_url)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def program(server: LimitedServer) -> Iterator[Program]:
    with Program(server.url) as program:
        yield program


def test_nothing_is_half_written_when_files_may_not_grow(
    server: LimitedServer, program: Program, tmp_path: Path
) -> None:
    answers = [program.client.post("/lorebooks/import", files={"file": ("w.json", book_of(300, "x" * 2000))})]
    while answers[-1].status_code == 201 and len(answers) < 40:
        answers.append(program.client.post("/lorebooks/import", files={"file": ("w.json", book_of(300, "x" * 2000))}))
    assert (answers[-1].status_code, answers[-1].json()["error"]["code"]) == (507, "storage_full")
    stored = len(answers) - 1
    assert stored > 0
    assert entries_of_books(program) == [300] * stored
    # This one is too long for the file that it is received in.
    spooled = program.client.post("/lorebooks/import", files={"file": ("w.json", b" " * (LIMIT_BYTES + 1))})
    assert (spooled.status_code, spooled.json()["error"]["code"]) == (507, "storage_full")
    server.kill()
    server.limit = resource.RLIM_INFINITY
    server.start()
    assert entries_of_books(program) == [300] * stored
    again = program.client.post("/lorebooks/import", files={"file": ("w.json", book_of(300))})
    assert again.status_code == 201
    with sqlite3.connect(tmp_path / "t.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def entries_of_books(program: Program) -> list[int]:
    """How many entries each of the imported books has."""
    return [book["entries_count"] for book in program.get("/lorebooks")["items"] if book["name"] == "w"]
