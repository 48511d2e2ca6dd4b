"""An application without a web server: a runtime on an empty database, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import example
from tavernkit.playground.base.accounts.users import ensure_owner
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.lease_clock import LeaseClock
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, OutboxEvent, Provider, Run
from tavernkit.playground.base.llm.base import ModelClient
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import RUNS, conversation_topic
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.characters.importing import import_file
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.providers.service import ensure_providers
from tavernkit.playground.story.replies.worker import Worker
from tavernkit.playground.story.retention import RetentionPeriods
from tavernkit.playground.story.runs.service import Claim, claim_runs, extend_leases
from tavernkit.playground.story.settings.service import change_space_settings, read_space_settings
from tavernkit.playground.story.spaces.service import start_story
from tavernkit.playground.story.sweeping.service import sweep
from tavernkit.values import Json
from tests.support.hanging import HANG_SECONDS

__all__ = [
    "LEASE_SECONDS",
    "OneModel",
    "Story",
    "claim_run",
    "extend_lease",
    "one_story",
    "open_story",
]

LEASE_SECONDS = 600.0
HEARTBEAT_SECONDS = 1.0
LOOK_AGAIN_SECONDS = 0.05


async def claim_run(runtime: Runtime, worker: str) -> Claim | None:
    """Take one run as a worker does."""
    return next(iter(await claim_runs(runtime, worker, 1)), None)


async def extend_lease(runtime: Runtime, claim: Claim) -> bool | None:
    """Say that the run is alive; whether it is to be stopped, None when it is not the worker's any more."""
    lease = (await extend_leases(runtime, [claim])).get(claim.run_id)
    return None if lease is None else lease.stop_asked


class OneModel:
    """Answers for every provider with the same client."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    def client_for(self, provider: Provider) -> ModelClient:
        return self.client

    has_embedded = True

    def is_ready(self, provider: Provider) -> bool:
        return True

    async def aclose(self) -> None:
        await self.client.aclose()


class MovableClock:
    """The time of day, ahead by what a test has skipped."""

    def __init__(self) -> None:
        self.skipped = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.skipped


class MovableLeaseClock:
    """The clock of the database, ahead by as much."""

    def __init__(self, lease_clock: LeaseClock, clock: MovableClock) -> None:
        self._lease_clock = lease_clock
        self._clock = clock

    async def now(self, session: AsyncSession) -> datetime:
        return await self._lease_clock.now(session) + self._clock.skipped


class Story:
    """An application with one story in it: what a test does there, and what it finds in the database."""

    def __init__(self, runtime: Runtime, user_id: UUID, conversation_id: UUID) -> None:
        self.runtime = runtime
        self.user_id = user_id
        self.conversation_id = conversation_id

    @property
    def skipped(self) -> timedelta:
        """How far the clock is ahead. A test that needs it later moves it, and waits for nothing."""
        return self._clock.skipped

    @skipped.setter
    def skipped(self, skipped: timedelta) -> None:
        self._clock.skipped = skipped

    @property
    def _clock(self) -> MovableClock:
        assert isinstance(self.runtime.clock, MovableClock)
        return self.runtime.clock

    def outlast_leases(self) -> None:
        """Move the clock on until no lease holds any more that was given up to now."""
        self.skipped += timedelta(seconds=self.runtime.settings.lease_seconds + 1)

    async def outlast_trash(self) -> None:
        """Let the period of everything in the trash pass, and sweep."""
        self.skipped += timedelta(days=RetentionPeriods().trash_days)
        await sweep(self.runtime, asyncio.Event())

    @property
    def viewer(self) -> Viewer:
        return Viewer(user_id=self.user_id)

    async def say(self, content: str = "Hello?", message_id: UUID | None = None) -> object:
        return await send_message(
            self.runtime, self.viewer, self.conversation_id, message_id=message_id or uuid4(), content=content
        )

    async def change_space(self, **settings: Json) -> None:
        """Change how the space takes turns."""
        async with self.runtime.database.read() as session:
            space_id = (await session.get_one(Conversation, self.conversation_id)).space_id
        before = await read_space_settings(self.runtime, self.viewer, space_id)
        await change_space_settings(
            self.runtime,
            self.viewer,
            space_id,
            patch={"space": settings},
            settings_version=before.settings_version,
        )

    async def messages(self) -> list[tuple[str, str]]:
        async with self.runtime.database.read() as session:
            rows = await session.scalars(
                select(Message).where(Message.conversation_id == self.conversation_id).order_by(Message.seq)
            )
            return [(row.role, row.content) for row in rows][1:]

    async def narrate(self, *contents: str) -> list[Message]:
        """Add narration, which nobody answers."""
        added = []
        for content in contents:
            message = await send_message(
                self.runtime,
                self.viewer,
                self.conversation_id,
                message_id=self.runtime.ids(),
                content=content,
                role="system",
            )
            added.append(message)
        return added

    async def conversation(self, id: UUID | None = None) -> Conversation:
        async with self.runtime.database.read() as session:
            return await session.get_one(Conversation, id or self.conversation_id)

    async def rows(self, conversation_id: UUID | None = None) -> list[Message]:
        """Every message, hidden or not."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(Message)
                .where(Message.conversation_id == (conversation_id or self.conversation_id))
                .order_by(Message.seq)
            )
            return list(found)

    async def shown(self, conversation_id: UUID | None = None) -> list[str]:
        """What is seen, but for the greeting."""
        rows = await self.rows(conversation_id)
        return [row.content for row in rows if row.visibility != "hidden" and row.seq > 1]

    async def message(self, id: UUID) -> Message:
        async with self.runtime.database.read() as session:
            return await session.get_one(Message, id)

    async def swipes(self, message_id: UUID) -> list[MessageSwipe]:
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(MessageSwipe).where(MessageSwipe.message_id == message_id).order_by(MessageSwipe.position)
            )
            return list(found)

    async def events(self) -> list[str]:
        async with self.runtime.database.read() as session:
            found = await session.scalars(
                select(OutboxEvent.kind)
                .where(OutboxEvent.conversation_id == self.conversation_id)
                .order_by(OutboxEvent.seq)
            )
            return list(found)

    async def run(self) -> Run:
        """The newest run."""
        async with self.runtime.database.read() as session:
            found = await session.scalars(select(Run).order_by(Run.created_at.desc(), Run.id).limit(1))
            return found.one()

    async def until(self, condition: Callable[[Run], bool]) -> Run:
        """The newest run, as soon as it is so: looked at whenever there is news, and now and then without any."""
        topic = conversation_topic(self.conversation_id)
        async with asyncio.timeout(HANG_SECONDS), self.runtime.bus.subscribe(RUNS, topic) as news:
            while not condition(run := await self.run()):
                await news.next(unless=self.runtime.stopping, within=LOOK_AGAIN_SECONDS)
        return run

    @asynccontextmanager
    async def working(self, name: str = "w1") -> AsyncIterator[None]:
        worker = Worker(self.runtime, name)
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task


@asynccontextmanager
async def open_story(
    url: str, folder: Path, model: ModelClient | None = None, *, ids: Callable[[], UUID] = uuid4, **settings: object
) -> AsyncIterator[Story]:
    """An application with one story, on a database that may hold it already.

    Nothing depends on how busy the machine is: leases last, and a test that wants one to run out moves the clock.
    """
    chosen = AppConfig(
        data_dir=folder,
        database_url=url,
        **{"lease_seconds": LEASE_SECONDS, "heartbeat_seconds": HEARTBEAT_SECONDS, **settings},
    )
    clock = MovableClock()
    async with open_runtime(chosen, models=OneModel(model or ScriptedModel()), clock=clock, ids=ids) as runtime:
        runtime.lease_clock = MovableLeaseClock(runtime.lease_clock, clock)
        yield Story(runtime, *await one_story(runtime))


async def one_story(runtime: Runtime) -> tuple[UUID, UUID]:
    """The owner, and a conversation with the first of the bundled characters: less than what people begin with, so that
    tests know everything that is there."""
    owner = await ensure_owner(runtime, "Owner")
    await ensure_providers(runtime)
    async with runtime.database.read() as session:
        first = select(Conversation.id).order_by(Conversation.created_at).limit(1)
        begun: UUID | None = await session.scalar(first)
    if begun is None:
        character = (await import_file(runtime, Viewer(user_id=owner.id), example.read(example.OTTOLINE))).character
        started = await start_story(runtime, owner, character.id, persona=example.user())
        assert isinstance(started, Conversation)
        begun = started.id
    return owner.id, begun
