"""PostgreSQL stalls: requests are answered with 503 after a while, and all is well when it goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2
import psycopg
import pytest

from tests.playground.overload.program import Program
from tests.playground.support.postgres import PostgresServer, running_postgres
from tests.playground.support.server import ScriptedModel, ServerProcess
from tests.support.hanging import HANG_SECONDS


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A server that can be stopped without stopping other tests."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def program(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel
) -> Iterator[Program]:
    server = ServerProcess(
        tmp_path_factory.mktemp("stalled"),
        model_url=scripted_model.base_url,
        database_url=postgres.url(),
        database_patience_seconds="1",
    )
    server.start()
    try:
        with Program(server.url) as program:
            yield program
    finally:
        server.stop()


def test_a_locked_table_is_answered_with_503(postgres: PostgresServer, program: Program) -> None:
    origin = str(program.client.base_url.copy_with(path="/"))
    with psycopg.connect(postgres.url().replace("+psycopg", "")) as locking:
        locking.execute("LOCK TABLE conversations, users IN ACCESS EXCLUSIVE MODE")
        assert_busy(program.client.get(f"/spaces/{program.space_id}/conversations"))
        page = program.client.get(f"{origin}conversations/{program.conversation_id}")
        assert (page.status_code, "The database is busy" in page.text) == (503, True)
        assert page.headers["Retry-After"] == "5"
        models = program.client.get(f"{origin}v1/models")
        assert (models.status_code, models.json()["error"]["code"]) == (503, "database_busy")
        assert models.headers["Retry-After"] == "5"
    assert program.conversations() == [str(program.conversation_id)]


def test_a_server_that_has_gone_silent_is_answered_with_503(postgres: PostgresServer, program: Program) -> None:
    path = f"/conversations/{program.conversation_id}/messages"
    before = [message["id"] for message in program.get(path)["items"]]
    postgres.pause()
    try:
        for _ in range(2):
            assert_busy(program.client.get(path))
        assert_busy(program.client.post(path, json={"content": "Is anybody there?"}))
    finally:
        postgres.resume()
    assert [message["id"] for message in until_answered(program, path)] == before
    assert program.client.post(path, json={"content": "And now?"}).status_code == 201


def assert_busy(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database_busy"), answer.text
    assert answer.headers["Retry-After"] == "5"


def until_answered(program: Program, path: str) -> list[dict[str, str]]:
    end = time.monotonic() + HANG_SECONDS
    while (answer := program.client.get(path)).status_code == 503:
        assert time.monotonic() < end
    found: list[dict[str, str]] = answer.raise_for_status().json()["items"]
    return found
