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
from tests.playground.support.server import ScriptedModel, ServerProcess, running

MESSAGES = int(os.environ.get("TAVERNKIT_IMPORTED_MESSAGES", "1500"))
IS_FULL_SIZE = MESSAGES >= 100_000
IMPORTS = 6
SENDERS = 20
SENT_BY_EACH = 5
PATIENCE_SECONDS = 60 + MESSAGES / 50


@pytest.fixture
def server(tmp_path: Path, scripted_model: ScriptedModel) -> Iterator[ServerProcess]:
    with running(ServerProcess(tmp_path, model_url=scripted_model.base_url)) as server:
        yield server


@pytest.fixture
def program(server: ServerProcess) -> Iterator[Program]:
    with Program(server.url) as program:
        yield program


def test_six_imports_and_twenty_senders_lose_nothing_and_get_no_error(server: ServerProcess, program: Program) -> None:
    places = [begin(program) for _ in range(SENDERS)]
    before = set(program.conversations())
    with ThreadPoolExecutor(SENDERS + IMPORTS) as threads, watched(server) as slowest:
        imports = [threads.submit(program.send_chat, chat_of(MESSAGES, f"N{number}")) for number in range(IMPORTS)]
        senders = [threads.submit(send, program, place) for place in places]
        jobs = [future.result() for future in imports]
        longest = max(future.result() for future in senders)
        ended = [program.wait_for_job(job, is_over, PATIENCE_SECONDS) for job in jobs]
    print(f"longest send {longest:.2f} s, longest answer of /health {slowest():.2f} s")
    assert [job["status"] for job in ended] == ["succeeded"] * IMPORTS
    for place in places:
        said = [message["content"] for message in program.get(f"/conversations/{place}/messages")["items"]]
        assert said == [f"{place} {number}" for number in range(SENT_BY_EACH)]
    imported = [conversation for job in ended for conversation in job["result"]["conversations"]]
    assert sorted(set(program.conversations()) - before) == sorted(imported)
    for number, conversation in enumerate(imported):
        exported = program.client.get(f"/conversations/{conversation}/export").raise_for_status()
        assert exported.content == chat_of(MESSAGES, f"N{number}")
    if IS_FULL_SIZE:
        # Far from the minute that it took without a queue of writers, however busy the machine is.
        assert (longest < 30, slowest() < 10) == (True, True)


def test_messages_are_accepted_between_the_pieces_of_an_import(program: Program) -> None:
    place = begin(program)
    job = program.send_chat(chat_of(20_000))
    program.wait_for_job(job, lambda job: job["done"] >= 1)
    send(program, place)
    assert not is_over(program.get(f"/jobs/{job}"))
    program.client.post(f"/jobs/{job}/cancel").raise_for_status()
    program.wait_for_job(job, is_over)
    said = [message["content"] for message in program.get(f"/conversations/{place}/messages")["items"]]
    assert said == [f"{place} {number}" for number in range(SENT_BY_EACH)]


def test_a_large_lorebook_is_imported_whole_while_others_are_answered(server: ServerProcess, program: Program) -> None:
    count = 20_000 if IS_FULL_SIZE else 2000
    with watched(server) as slowest:
        answer = program.client.post("/lorebooks/import", files={"file": ("world.json", book_of(count))})
    print(f"longest answer of /health {slowest():.2f} s")
    assert (answer.status_code, answer.json()["lorebook"]["entries_count"]) == (201, count)
    if IS_FULL_SIZE:
        assert slowest() < 1


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


def is_over(job: dict[str, str]) -> bool:
    return job["status"] not in ("queued", "running")


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
            while not self._over.wait(0.01):
                began = time.monotonic()
                answer = client.get(self._url)
                assert answer.is_success, answer.text
                self._slowest = max(self._slowest, time.monotonic() - began)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_import_that_is_killed_is_completed_once(
    request: pytest.FixtureRequest, tmp_path: Path, scripted_model: ScriptedModel, kind: str
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    file = chat_of(4000)
    with (
        running(ServerProcess(tmp_path, model_url=scripted_model.base_url, database_url=url)) as server,
        Program(server.url) as program,
    ):
        before = program.conversations()
        job = program.send_chat(file)
        program.wait_for_job(job, lambda job: job["done"] >= 2)
        server.kill()
        server.start()
        assert program.conversations() == before
        ended = program.wait_for_job(job, is_over)
        assert (ended["status"], ended["done"]) == ("succeeded", ended["total"])
        (imported,) = set(program.conversations()) - set(before)
        assert ended["result"]["conversations"] == [imported]
        assert program.client.get(f"/conversations/{imported}/export").content == file
