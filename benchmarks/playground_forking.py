"""Forking a long conversation, beside inserting as many rows by one statement."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import insert, literal, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.functions import derived_id
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, SpaceMembership, TextContent
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.seeding import seed

MESSAGES = 10_000
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
LINE = "Line {} of a story that has been going on for a long time, and of which somebody wants another ending."


class Story:
    """A conversation of `MESSAGES` messages in an SQLite file."""

    def __init__(self, runtime: Runtime, viewer: Viewer, conversation_id: UUID, last_id: UUID) -> None:
        self._runtime = runtime
        self._viewer = viewer
        self._conversation_id = conversation_id
        self._last_id = last_id

    async def fork(self) -> None:
        child = await fork(self._runtime, self._viewer, self._conversation_id, self._last_id)
        if isinstance(child, Refused) or child.messages_count != MESSAGES:
            raise RuntimeError("the story was not copied")

    async def insert(self) -> None:
        """As many messages into a new conversation, by one statement, with ids that are no dearer than a fork's."""
        async with self._runtime.database.write() as session:
            target = await self._copy_of_conversation(session)
            table = Message.metadata.tables["messages"]
            changed = {"id": derived_id(target, Message.id), "conversation_id": literal(target)}
            columns = {column.name: changed.get(column.name, column) for column in table.columns}
            await session.execute(
                insert(table).from_select(
                    list(columns),
                    select(*columns.values()).where(Message.conversation_id == self._conversation_id),
                    include_defaults=False,
                )
            )

    async def _copy_of_conversation(self, session: AsyncSession) -> UUID:
        source = await session.get_one(Conversation, self._conversation_id)
        target = uuid4()
        session.add(Conversation(id=target, space_id=source.space_id, title="Copy", created_at=BEGAN, updated_at=BEGAN))
        await session.flush()
        return target


async def write_story(runtime: Runtime) -> Story:
    owner = await seed(runtime)
    async with runtime.database.write() as session:
        first = select(Conversation).order_by(Conversation.created_at).limit(1)
        conversation = (await session.scalars(first)).one()
        human = (SpaceMembership.kind == "human", SpaceMembership.space_id == conversation.space_id)
        author = (await session.scalars(select(SpaceMembership.id).where(*human))).one()
        numbers = range(conversation.last_seq + 1, MESSAGES + 1)
        texts, messages, swipes = [uuid4() for _ in numbers], [uuid4() for _ in numbers], [uuid4() for _ in numbers]
        await session.execute(
            insert(TextContent), [{"id": id, "content": LINE.format(n)} for id, n in zip(texts, numbers, strict=True)]
        )
        await session.execute(
            insert(Message),
            [
                {"id": id, "conversation_id": conversation.id, "membership_id": author, "seq": n, "role": "user",
                 "text_id": text, "active_swipe_id": swipe, "swipes_count": 1, "created_at": BEGAN}
                for id, text, swipe, n in zip(messages, texts, swipes, numbers, strict=True)
            ],
        )  # fmt: skip
        await session.execute(
            insert(MessageSwipe),
            [
                {"id": swipe, "message_id": id, "position": 0, "text_id": text, "created_at": BEGAN}
                for id, text, swipe in zip(messages, texts, swipes, strict=True)
            ],
        )
        conversation.last_seq = conversation.messages_count = MESSAGES
    return Story(runtime, Viewer(user_id=owner.id), conversation.id, messages[-1])


class Desk:
    """Where the story lies; it is written when somebody first asks for it, and thrown away at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    @cached_property
    def story(self) -> Story:
        return self._runner.run(self._write())

    def fork(self) -> None:
        self._runner.run(self.story.fork())

    def insert(self) -> None:
        self._runner.run(self.story.insert())

    async def _write(self) -> Story:
        runtime = await self._opened.enter_async_context(
            open_runtime(AppConfig(data_dir=self._folder, database_url=""))
        )
        return await write_story(runtime)


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Desk(folder)) as desk:
        yield Benchmark(
            name=f"fork {MESSAGES:,} messages",
            ours=desk.fork,
            baseline=desk.insert,
            note="inserting as many messages by one statement",
        )
