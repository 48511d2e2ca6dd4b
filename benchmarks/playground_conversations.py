"""Opening a long conversation and sending into it, beside a short one."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import insert, select

from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, SpaceMembership, TextContent
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.edge.presenting.conversations import conversation_view, older_view
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.story.messages.service import read_messages, send_message
from tavernkit.playground.story.seeding import seed
from tavernkit.playground.story.spaces.service import create_space

LONG, SHORT = 100_000, 1_000
CHUNK = 5_000
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
LINE = "Line {} of a story that has been going on for a long time, in which *somebody* says something every day."


class Shelf:
    """Two stories in an SQLite file; written when somebody first asks, and thrown away at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def open_page(self, length: int) -> None:
        """The chat page as HTML, with the newest messages."""
        runtime, viewer, stories = self._filled
        view = self._runner.run(conversation_view(runtime, stories[length], viewer))
        if view is None or len(render("conversation.html", view=view)) < 10_000:
            raise RuntimeError("the page is not there")

    def open_older(self, length: int) -> None:
        """A page of messages in the middle."""
        runtime, viewer, stories = self._filled
        view = self._runner.run(older_view(runtime, stories[length], viewer, before=length // 2))
        if view is None or not view.messages:
            raise RuntimeError("the page is not there")

    def read(self, length: int) -> None:
        """The newest messages as programs get them."""
        runtime, viewer, stories = self._filled
        read = read_messages(runtime, viewer, stories[length], before=None, after=None, limit=50)
        if isinstance(self._runner.run(read), Refused):
            raise RuntimeError("the messages are not there")

    def send(self, length: int) -> None:
        """One more message, which nobody answers."""
        runtime, viewer, stories = self._filled
        sending = send_message(
            runtime, viewer, stories[length], message_id=uuid4(), content=LINE.format("one more"), role="system"
        )
        if isinstance(self._runner.run(sending), Refused):
            raise RuntimeError("the message was not taken")

    @cached_property
    def _filled(self) -> tuple[Runtime, Viewer, dict[int, UUID]]:
        return self._runner.run(self._fill())

    async def _fill(self) -> tuple[Runtime, Viewer, dict[int, UUID]]:
        runtime = await self._opened.enter_async_context(
            open_runtime(AppConfig(data_dir=self._folder, database_url=""))
        )
        viewer = Viewer(user_id=(await seed(runtime)).id)
        return runtime, viewer, {length: await write_story(runtime, viewer, length) for length in (LONG, SHORT)}


async def write_story(runtime: Runtime, viewer: Viewer, length: int) -> UUID:
    made = await create_space(runtime, viewer, greeting=False)
    if isinstance(made, Refused):
        raise RuntimeError(made.sentence)
    async with runtime.database.write() as session:
        conversation = await session.get_one(Conversation, made.conversation.id)
        author = (
            await session.scalars(select(SpaceMembership.id).where(SpaceMembership.space_id == conversation.space_id))
        ).one()
        for first in range(1, length + 1, CHUNK):
            rows = [(n, uuid4(), uuid4(), uuid4()) for n in range(first, min(first + CHUNK, length + 1))]
            await session.execute(
                insert(TextContent), [{"id": text, "content": LINE.format(n)} for n, _, text, _ in rows]
            )
            await session.execute(
                insert(Message),
                [
                    {"id": id, "conversation_id": conversation.id, "membership_id": author, "seq": n, "role": "user",
                     "text_id": text, "active_swipe_id": swipe, "swipes_count": 1, "created_at": BEGAN}
                    for n, id, text, swipe in rows
                ],
            )  # fmt: skip
            await session.execute(
                insert(MessageSwipe),
                [
                    {"id": swipe, "message_id": id, "position": 0, "text_id": text, "created_at": BEGAN}
                    for _, id, text, swipe in rows
                ],
            )
        conversation.last_seq = conversation.messages_count = length
    return made.conversation.id


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Shelf(folder)) as shelf:
        for name, use in (
            ("open the page of a conversation", shelf.open_page),
            ("read older messages of a conversation", shelf.open_older),
            ("list the messages of a conversation", shelf.read),
            ("send into a conversation", shelf.send),
        ):
            yield Benchmark(
                name=f"{name} of {LONG:,}",
                ours=partial(use, LONG),
                baseline=partial(use, SHORT),
                note=f"the same with {SHORT:,} messages",
            )
