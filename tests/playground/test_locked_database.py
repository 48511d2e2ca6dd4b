"""Somebody locks the database for a while: /health says so, and afterwards replies go on without a restart."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from uuid import UUID, uuid4

import httpx2
import psycopg
from sqlalchemy import make_url

from tavernkit.playground.base.database.engine import POOLS
from tests.playground.support.server import ScriptedModel, ServerProcess
from tests.playground.support.visitor import Visitor
from tests.support.hanging import wait_until

LOCKED_SECONDS = float(os.environ.get("TAVERNKIT_LOCKED_SECONDS", "1"))
LATE_SECONDS = 45
"""After so long without a success, each loop of the worker counts as unwell."""
POOL = sum(POOLS["requests"])
WAITING = POOL + 10
PATIENCE_SECONDS = 90 + LOCKED_SECONDS
WAITS = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted AND datname = %s"


class Locked:
    """A server whose database is locked, with people who wait for it."""

    def __init__(self, url: str) -> None:
        # Apart from the others: the server closes the connections of requests that fail.
        self._client, self._crowd = _client(url), _client(url)
        self._began = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._crowd.close()

    def begin(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def health(self) -> tuple[int, dict[str, Any]]:
        answer = self._client.get("/health")
        return answer.status_code, answer.json()

    def open_chat(self, story: UUID) -> None:
        """Who has waited too long may be sent away."""
        with suppress(httpx2.HTTPError):
            self._crowd.get(f"/conversations/{story}")

    def say(self, story: UUID) -> None:
        """One of them is first, and the others may be refused."""
        form = {"id": str(uuid4()), "content": "Hello?"}
        with suppress(httpx2.HTTPError):
            self._crowd.post(f"/conversations/{story}/messages", data=form)

    def until(self, condition: Callable[[int, dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask until the answer is as expected, which is so sooner or later."""
        while not condition(*(answer := self.health())):
            assert self.seconds < PATIENCE_SECONDS, answer
        return answer[1]


def test_replies_go_on_after_the_messages_were_locked(
    tmp_path: Path, scripted_model: ScriptedModel, postgres_story_url: str
) -> None:
    url = make_url(postgres_story_url)
    with (
        _serving(tmp_path, scripted_model, postgres_story_url) as server,
        Visitor(server.url) as visitor,
        Locked(server.url) as locked,
        ThreadPoolExecutor(WAITING) as crowd,
        psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as other,
    ):
        story = visitor.begin_story()
        other.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
        locked.begin()
        people = [crowd.submit(locked.open_chat, story) for _ in range(WAITING)]
        # All the connections of requests are in use.
        wait_until(lambda: (other.execute(WAITS, (url.database,)).fetchone() or (0,)) >= (POOL,))
        full = locked.seconds

        def is_long_locked(status: int, answer: dict[str, Any]) -> bool:
            assert (status, answer["status"], answer["database"]) == (503, "unhealthy", "unreachable")
            # Nobody who waits keeps the worker from its work: every loop has succeeded since they all waited.
            return locked.seconds >= LOCKED_SECONDS and all(
                loop["alive"] and (name == "sweep" or loop["seconds_since_success"] < locked.seconds - full)
                for name, loop in answer["worker"].items()
            )

        locked.until(is_long_locked)
        other.rollback()
        _goes_on(locked, visitor, story, people)


def test_replies_go_on_after_another_process_held_the_file(
    tmp_path: Path, scripted_model: ScriptedModel, sqlite_url: str
) -> None:
    file = make_url(sqlite_url).database
    assert file is not None
    with (
        _serving(tmp_path, scripted_model, sqlite_url) as server,
        Visitor(server.url) as visitor,
        Locked(server.url) as locked,
        ThreadPoolExecutor(WAITING) as crowd,
        closing(sqlite3.connect(file, isolation_level=None, timeout=60)) as other,
    ):
        story = visitor.begin_story()
        other.execute("BEGIN EXCLUSIVE")
        locked.begin()
        people = [crowd.submit(locked.say, story) for _ in range(WAITING)]
        waiting = min(LOCKED_SECONDS, LATE_SECONDS)
        unwell = locked.until(
            lambda _, answer: all(
                answer["worker"][name]["seconds_since_success"] >= waiting for name in ("claim_runs", "claim_jobs")
            )
        )
        assert waiting < LATE_SECONDS or unwell["status"] == "unhealthy", unwell
        locked.until(lambda *_: locked.seconds >= LOCKED_SECONDS)
        other.execute("ROLLBACK")
        _goes_on(locked, visitor, story, people)


def _goes_on(locked: Locked, visitor: Visitor, story: UUID, people: list[Future[None]]) -> None:
    answer = locked.until(lambda status, _: status == 200)
    assert (answer["status"], answer["database"]) == ("ok", "ok")
    wait(people)
    visitor.wait_until_settled(story)
    visitor.send(story, uuid4(), "Is anybody there?")
    page = visitor.wait_until_settled(story)
    assert page.messages[-2] == "Is anybody there?", page
    assert locked.health()[1]["queue"]["runs"]["due"] == 0


@contextmanager
def _serving(folder: Path, model: ScriptedModel, database_url: str) -> Iterator[ServerProcess]:
    server = ServerProcess(folder, model_url=model.base_url, database_url=database_url)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _client(url: str) -> httpx2.Client:
    limits = httpx2.Limits(max_connections=None)
    return httpx2.Client(
        base_url=url, headers={"Origin": url}, limits=limits, timeout=PATIENCE_SECONDS, trust_env=False
    )
