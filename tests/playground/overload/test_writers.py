"""Many who write to SQLite at once: nobody is refused without a reason, and what was acknowledged is there.

`TAVERNKIT_IMPORTED_MESSAGES=100000` makes the files as long as they may be, and then also looks at the time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.playground.overload.program import Program, book_of, chat_of
from tests.playground.support.databases import shared_story_url
from tests.playground.support.rows import Rows, open_rows
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.support.hanging import wait_until

MESSAGES = int(os.environ.get("TAVERNKIT_IMPORTED_MESSAGES", "1010"))
"""A file of more than a thousand is imported by a job."""
IS_FULL_SIZE = MESSAGES >= 100_000
IMPORTS = 6
SENDERS = 20
SENT_BY_EACH = 5 if IS_FULL_SIZE else 2


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel
) -> Iterator[ServerProcess]:
    """A server on SQLite that the tests share, each in a space of its own."""
    folder = tmp_path_factory.mktemp("written")
    url = shared_story_url(request, "sqlite", folder)
    with running(ServerProcess(folder, model_url=scripted_model.base_url, database_url=url)) as server:
        yield server


@pytest.fixture
def program(server: ServerProcess) -> Iterator[Program]:
    with Program(server.url) as program:
        yield program


@pytest.fixture
def rows(server: ServerProcess) -> Iterator[Rows]:
    with open_rows(server.database_url) as rows:
        yield rows


def test_six_imports_and_twenty_senders_lose_nothing_and_get_no_error(
    server: ServerProcess, program: Program, rows: Rows
) -> None:
    places = [begin(program) for _ in range(SENDERS)]
    before = set(program.conversations())
    with ThreadPoolExecutor(SENDERS + IMPORTS) as threads, watched(server) as slowest:
        imports = [threads.submit(program.send_chat, chat_of(MESSAGES, f"N{number}")) for number in range(IMPORTS)]
        senders = [threads.submit(send, program, place) for place in places]
        jobs = [future.result() for future in imports]
        longest = max(future.result() for future in senders)
        assert [rows.wait_until_job_ended(job) for job in jobs] == ["succeeded"] * IMPORTS
    print(f"longest send {longest:.2f} s, longest answer of /health {slowest():.2f} s")
    for place in places:
        said = [message["content"] for message in program.get(f"/conversations/{place}/messages")["items"]]
        assert said == [f"{place} {number}" for number in range(SENT_BY_EACH)]
    imported = [conversation for job in jobs for conversation in program.job(job)["result"]["conversations"]]
    assert sorted(set(program.conversations()) - before) == sorted(imported)
    for number, conversation in enumerate(imported):
        exported = program.client.get(f"/conversations/{conversation}/export").raise_for_status()
        assert exported.content == chat_of(MESSAGES, f"N{number}")


def test_messages_are_accepted_between_the_pieces_of_an_import(program: Program, rows: Rows) -> None:
    place = begin(program)
    job = program.send_chat(chat_of(20_000))
    wait_until(lambda: rows.job_done(job) >= 1)
    send(program, place)
    assert rows.job_status(job) == "running"
    program.client.post(f"/jobs/{job}/cancel").raise_for_status()
    assert rows.wait_until_job_ended(job) == "canceled"
    said = [message["content"] for message in program.get(f"/conversations/{place}/messages")["items"]]
    assert said == [f"{place} {number}" for number in range(SENT_BY_EACH)]


def test_a_large_lorebook_is_imported_whole_while_others_are_answered(server: ServerProcess, program: Program) -> None:
    count = 20_000 if IS_FULL_SIZE else 2000
    with watched(server) as slowest:
        answer = program.client.post("/lorebooks/import", files={"file": ("world.json", book_of(count))})
    print(f"longest answer of /health {slowest():.2f} s")
    assert (answer.status_code, answer.json()["lorebook"]["entries_count"]) == (201, count)


def begin(program: Program) -> UUID:
    path = f"/spaces/{program.space_id}/conversations"
    return UUID(program.client.post(path, json={"greeting": False}).raise_for_status().json()["id"])


def send(program: Program, place: UUID) -> float:
    """Send messages one after the other, again where the server says so; how long the longest took."""
    longest = 0.0
    for number in range(SENT_BY_EACH):
        body = {"id": str(uuid4()), "content": f"{place} {number}"}
        began = time.monotonic()
        while (answer := program.client.post(f"/conversations/{place}/messages", json=body)).status_code != 201:
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database_busy"), answer.text
            time.sleep(int(answer.headers["Retry-After"]))
        longest = max(longest, time.monotonic() - began)
    return longest


ASKING_EVERY_SECONDS = 0.05


class watched:  # noqa: N801 - used like a function
    """Asks a cheap question again and again; gives how long the slowest answer took."""

    def __init__(self, server: ServerProcess) -> None:
        self._url = f"{server.url}/health"
        self._over = threading.Event()
        self._slowest = 0.0
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Callable[[], float]:
        self._thread.start()
        return lambda: self._slowest

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _ask(self) -> None:
        with httpx2.Client(trust_env=False, timeout=60) as client:
            while not self._over.wait(ASKING_EVERY_SECONDS):
                began = time.monotonic()
                answer = client.get(self._url)
                assert answer.is_success, answer.text
                self._slowest = max(self._slowest, time.monotonic() - began)


def test_an_import_that_is_killed_is_completed_once(
    database_url: str, tmp_path: Path, scripted_model: ScriptedModel
) -> None:
    file = chat_of(4000)
    with (
        running(ServerProcess(tmp_path, model_url=scripted_model.base_url, database_url=database_url)) as server,
        Program(server.url) as program,
        open_rows(database_url) as rows,
    ):
        before = program.conversations()
        job = program.send_chat(file)
        wait_until(lambda: rows.job_done(job) >= 2)
        server.kill()
        rows.age_leases()
        server.start()
        assert program.conversations() == before
        assert rows.wait_until_job_ended(job) == "succeeded"
        ended = program.job(job)
        assert ended["done"] == ended["total"]
        (imported,) = set(program.conversations()) - set(before)
        assert ended["result"]["conversations"] == [imported]
        assert program.client.get(f"/conversations/{imported}/export").content == file
