"""Reading what the steps of a run see of a session that has kept very much, beside fetching the same rows."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from sqlalchemy import insert, select

from tavernkit.artifacts import Artifact, Session, write_artifact
from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import ArtifactHead, ArtifactVersion, Conversation
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.artifacts.path import read_view, session_of
from tavernkit.playground.story.artifacts.store import VERSION_COLUMNS, conversation_of
from tavernkit.playground.story.seeding import seed

TAGS = 200
VERSIONS = 1_000
TICK_SECONDS = 0.005
NOW = datetime(2024, 1, 1, tzinfo=UTC)


class Kept:
    """A conversation with `TAGS` artifacts of `VERSIONS` versions each, in an SQLite file."""

    def __init__(self, runtime: Runtime, session: Session) -> None:
        self._runtime = runtime
        self._session = session

    async def view(self) -> None:
        async with self._runtime.database.read() as session:
            view = await read_view(session, self._session, now=NOW, turn=VERSIONS)
        if sum(len(each.versions) for each in view) != TAGS * VERSIONS:
            raise RuntimeError("the session was not read")

    async def timed_view(self) -> float:
        """How long it takes to read the session, in seconds."""
        began = time.perf_counter()
        await self.view()
        return time.perf_counter() - began

    async def longest_pause(self) -> float:
        """For how long nothing else could happen at once in this process while the session was read, in seconds."""
        pauses = [0.0]

        async def watch() -> None:
            while True:
                began = time.perf_counter()
                await asyncio.sleep(TICK_SECONDS)
                pauses.append(time.perf_counter() - began - TICK_SECONDS)

        watching = asyncio.create_task(watch())
        await self.view()
        watching.cancel()
        return max(pauses)

    async def fetch(self) -> None:
        """The same rows by one statement, as the driver gives them with their JSON decoded."""
        of_session = ArtifactVersion.conversation_id == conversation_of(self._session)
        async with self._runtime.database.read() as session:
            rows = (await session.execute(select(*VERSION_COLUMNS).where(of_session))).all()
        if len(rows) != TAGS * VERSIONS:
            raise RuntimeError("the rows were not fetched")


async def write_session(runtime: Runtime) -> Kept:
    await seed(runtime)
    async with runtime.database.write() as session:
        first = select(Conversation.id).order_by(Conversation.created_at).limit(1)
        conversation_id = (await session.scalars(first)).one()
        place = await session_of(session, conversation_id)
        tags = [f"tag_{number}" for number in range(TAGS)]
        await session.execute(
            insert(ArtifactHead),
            [
                {"conversation_id": conversation_id, "tag": tag, "owner": "world", "latest_version": VERSIONS,
                 "definition": write_artifact(Artifact(id=tag, session=place, tag=tag, content_type="json"))}
                for tag in tags
            ],
        )  # fmt: skip
        for tag in tags:
            await session.execute(
                insert(ArtifactVersion),
                [
                    {"conversation_id": conversation_id, "tag": tag, "version": number, "content_type": "json",
                     "content": {"hour": number, "place": "the harbour"}, "turn": number, "pipeline": "world",
                     "created_at": NOW}
                    for number in range(1, VERSIONS + 1)
                ],
            )  # fmt: skip
    return Kept(runtime, place)


class Desk:
    """Where the session lies; it is written when somebody first asks for it, and thrown away at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    @cached_property
    def kept(self) -> Kept:
        return self._runner.run(self._write())

    def view(self) -> None:
        self._runner.run(self.kept.view())

    def fetch(self) -> None:
        self._runner.run(self.kept.fetch())

    def longest_pause(self) -> float:
        return self._runner.run(self.kept.longest_pause())

    def timed_view(self) -> float:
        return self._runner.run(self.kept.timed_view())

    async def _write(self) -> Kept:
        runtime = await self._opened.enter_async_context(
            open_runtime(AppConfig(data_dir=self._folder, database_url=""))
        )
        return await write_session(runtime)


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Desk(folder)) as desk:
        yield Benchmark(
            name=f"view of {TAGS} artifacts, {VERSIONS:,} versions each",
            ours=desk.view,
            baseline=desk.fetch,
            note="fetching the same rows by one statement",
            rounds=3,
        )
        yield Benchmark(
            name="longest pause while that view is read",
            ours=desk.longest_pause,
            baseline=desk.timed_view,
            note="how long the reading takes",
            rounds=3,
            times_itself=True,
        )
