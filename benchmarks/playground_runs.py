"""How soon the model is asked, and how soon a reply stops.

`BENCH_LONG` and `BENCH_SENDS` in the environment change the sizes.
"""

import asyncio
import os
import queue
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import uvicorn
from sqlalchemy import insert, select
from starlette.types import ASGIApp, Receive, Scope, Send

from tavernkit.benchmarks import Benchmark, started
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    MessageSwipe,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.llm.scripted_server import scripted_app
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.seeding import seed
from tavernkit.playground.story.spaces.service import create_space

LONG, SHORT = int(os.environ.get("BENCH_LONG", "100000")), 1_000
SENDS = int(os.environ.get("BENCH_SENDS", "21"))
CHUNK = 5_000
PATIENCE_SECONDS = 60
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
LINE = "Line {} of a story that has been going on for a long time, in which *somebody* says something every day."


def client_of(address: str) -> httpx2.Client:
    return httpx2.Client(base_url=address, headers={"Origin": address}, timeout=PATIENCE_SECONDS, trust_env=False)


def send(client: httpx2.Client, conversation_id: UUID, content: str) -> None:
    form = {"id": str(uuid4()), "content": content}
    answer = client.post(f"/conversations/{conversation_id}/messages", data=form)
    if answer.status_code != 303:
        raise RuntimeError(f"the message was not taken: {answer.status_code}")


def wait_until(condition: Callable[[], bool], *, every: float) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("it takes too long")
        time.sleep(every)


class Provider:
    """The scripted provider in a thread of this process, so that both sides have the same clock."""

    def __init__(self) -> None:
        self.asked: queue.SimpleQueue[float] = queue.SimpleQueue()
        config = uvicorn.Config(self._noting(scripted_app(delay=0)), port=0, log_level="critical", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        wait_until(lambda: self._server.started, every=0.01)

    @property
    def url(self) -> str:
        port: int = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    def close(self) -> None:
        self._server.force_exit = self._server.should_exit = True
        self._thread.join()

    def _noting(self, app: ASGIApp) -> ASGIApp:
        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            self.asked.put(time.perf_counter())
            await app(scope, receive, send)

        return noted


class House:
    """A real server on an SQLite file with two stories, and a provider; there when somebody first asks."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def close(self) -> None:
        self._opened.close()

    def ask(self, length: int) -> float:
        """From the moment that the message is sent until the provider hears of it: the median of many."""
        stories, client = self._stories, self._client
        taken = []
        for _ in range(SENDS):
            began = time.perf_counter()
            send(client, stories[length], "[[say: Yes.]]")
            taken.append(self._provider.asked.get(timeout=PATIENCE_SECONDS) - began)
            wait_until(self._nobody_writes, every=0.005)
        return statistics.median(taken)

    def cancel(self) -> float:
        """From the moment that somebody presses Stop until the run has ended, while the provider says nothing."""
        story, client = self._stories[SHORT], self._client
        taken = []
        for _ in range(SENDS):
            send(client, story, "[[say: One, two]] [[hang]]")
            self._provider.asked.get(timeout=PATIENCE_SECONDS)
            run = self._running()
            wait_until(partial(self._has_said, client, run, "One, two"), every=0.02)
            began = time.perf_counter()
            with closing(client_of(str(client.base_url))) as other:
                stopping = threading.Thread(target=other.post, args=(f"/runs/{run}/stop",))
                stopping.start()
                wait_until(self._nobody_writes, every=0.001)
                taken.append(time.perf_counter() - began)
                stopping.join()
            client.post(f"/runs/{run}/discard")
        return statistics.median(taken)

    def post(self) -> float:
        """The round trip of the same request for a run that has ended, over a connection that is new as well."""
        run = self._last()
        taken = []
        for _ in range(SENDS):
            began = time.perf_counter()
            with closing(client_of(str(self._client.base_url))) as other:
                other.post(f"/runs/{run}/stop")
            taken.append(time.perf_counter() - began)
        return statistics.median(taken)

    def _nobody_writes(self) -> bool:
        return not self._runs("status IN ('queued', 'running')")

    def _has_said(self, client: httpx2.Client, run: UUID, text: str) -> bool:
        return bool(client.get(f"/runs/{run}/text").json()["text"] == text)

    def _running(self) -> UUID:
        return self._runs("status = 'running'")[0]

    def _last(self) -> UUID:
        return self._runs("status = 'canceled'")[0]

    def _runs(self, condition: str) -> list[UUID]:
        rows = self._database.execute(f"SELECT id FROM conversation_runs WHERE {condition} LIMIT 1")  # noqa: S608 - our own words
        return [UUID(id) for (id,) in rows]

    @cached_property
    def _folder(self) -> Path:
        return Path(self._opened.enter_context(tempfile.TemporaryDirectory()))

    @cached_property
    def _provider(self) -> Provider:
        return self._opened.enter_context(closing(Provider()))

    @cached_property
    def _stories(self) -> dict[int, UUID]:
        return asyncio.run(write_stories(self._folder, (LONG, SHORT)))

    @cached_property
    def _client(self) -> httpx2.Client:
        settings = {
            "TAVERNKIT_DATA_DIR": str(self._folder),
            "TAVERNKIT_DATABASE_URL": "",
            "TAVERNKIT_OPENAI_BASE_URL": self._provider.url,
            "TAVERNKIT_OPENAI_MODEL": "scripted",
        }
        address = self._opened.enter_context(started("serve", "--port", "0", **settings))
        return self._opened.enter_context(client_of(address))

    @cached_property
    def _database(self) -> sqlite3.Connection:
        return self._opened.enter_context(closing(sqlite3.connect(self._folder / "tavernkit.db")))


async def write_stories(folder: Path, lengths: tuple[int, ...]) -> dict[int, UUID]:
    async with open_runtime(AppConfig(data_dir=folder, database_url="")) as runtime:
        viewer = Viewer(user_id=(await seed(runtime)).id)
        return {length: await write_story(runtime, viewer, length) for length in lengths}


async def write_story(runtime: Runtime, viewer: Viewer, length: int) -> UUID:
    """A conversation with a character, in which the two have taken turns."""
    async with runtime.database.read() as session:
        character_id = (await session.scalars(select(Character.id).limit(1))).one()
    made = await create_space(runtime, viewer, character_ids=[character_id], greeting=False)
    if isinstance(made, Refused):
        raise RuntimeError(made.sentence)
    async with runtime.database.write() as session:
        conversation = await session.get_one(Conversation, made.conversation.id)
        members = await session.execute(
            select(SpaceMembership.kind, SpaceMembership.id).where(SpaceMembership.space_id == made.space.id)
        )
        member: dict[str, UUID] = {row.kind: row.id for row in members}
        turns = (("assistant", member["character"]), ("user", member["human"]))
        for first in range(1, length + 1, CHUNK):
            rows = [(n, uuid4(), uuid4(), uuid4(), *turns[n % 2]) for n in range(first, min(first + CHUNK, length + 1))]
            await session.execute(
                insert(TextContent), [{"id": text, "content": LINE.format(n)} for n, _, text, *_ in rows]
            )
            await session.execute(
                insert(Message),
                [
                    {"id": id, "conversation_id": conversation.id, "membership_id": author, "seq": n, "role": role,
                     "text_id": text, "active_swipe_id": swipe, "swipes_count": 1, "created_at": BEGAN}
                    for n, id, text, swipe, role, author in rows
                ],
            )  # fmt: skip
            await session.execute(
                insert(MessageSwipe),
                [
                    {"id": swipe, "message_id": id, "position": 0, "text_id": text, "created_at": BEGAN}
                    for _, id, text, swipe, *_ in rows
                ],
            )
        conversation.last_seq = conversation.messages_count = length
    return made.conversation.id


def benchmarks() -> Iterator[Benchmark]:
    with closing(House()) as house:
        yield Benchmark(
            name=f"from sending to the model, {LONG:,} messages",
            ours=partial(house.ask, LONG),
            baseline=partial(house.ask, SHORT),
            note=f"the same with {SHORT:,} messages",
            rounds=5,
            times_itself=True,
        )
        yield Benchmark(
            name="from Stop to the end of a silent run",
            ours=house.cancel,
            baseline=house.post,
            note="the same request for a run that has ended",
            rounds=3,
            times_itself=True,
        )
