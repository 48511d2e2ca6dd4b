"""A story for tests: what was said in it, and everything that can be done to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, OutboxEvent
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.messages.service import send_message
from tests.playground.playing import Play, playing

__all__ = ["Story", "telling"]


class Story(Play):
    """A play in which narration can be told without anybody answering."""

    async def tell(self, *contents: str) -> list[Message]:
        """Narrate; nothing waits for an answer."""
        told = []
        for content in contents:
            message = await send_message(
                self.runtime,
                self.viewer,
                self.conversation_id,
                message_id=self.runtime.ids(),
                content=content,
                role="system",
            )
            told.append(message)
        return told

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


@asynccontextmanager
async def telling(url: str, folder: Path) -> AsyncIterator[Story]:
    async with playing(url, folder, ScriptedModel()) as play:
        yield Story(play.runtime, play.user_id, play.conversation_id)
