"""Chats in and out of an application, for tests."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job, Message, MessageSwipe, SpaceMembership
from tavernkit.playground.base.jobs.service import claim_job, finish_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.story.chatfiles.exporting import export_chat, written_chat
from tavernkit.playground.story.chatfiles.formats import Format
from tavernkit.playground.story.chatfiles.importing import carry_out_chat_import, import_chats
from tests.playground.stories import Story

__all__ = ["bring_in", "bring_in_all", "lines", "members", "messages", "space_of", "swipes", "take_out"]


def lines(*records: Any) -> str:
    return "\n".join(
        record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        for record in records
    )


async def space_of(play: Story) -> UUID:
    async with play.runtime.database.read() as session:
        return (await session.get_one(Conversation, play.conversation_id)).space_id


async def bring_in_all(play: Story, file: str | bytes, *, title: str = "") -> list[Conversation]:
    data = file if isinstance(file, bytes) else file.encode("utf-8", "surrogatepass")
    outcome = await import_chats(play.runtime, viewer(play), await space_of(play), data, title=title)
    return await carried_out(play, outcome) if isinstance(outcome, Job) else outcome[0]


async def carried_out(play: Story, job: Job) -> list[Conversation]:
    """What a job imports: it is carried out here and now."""
    claim = await claim_job(play.runtime, "w1", [job.kind])
    assert claim is not None
    result = await carry_out_chat_import(JobWork(play.runtime, claim))
    assert await finish_job(play.runtime, claim, result)
    async with play.runtime.database.read() as session:
        return [await session.get_one(Conversation, UUID(id)) for id in result["conversations"]]


async def bring_in(play: Story, file: str | bytes, *, title: str = "") -> Conversation:
    (conversation,) = await bring_in_all(play, file, title=title)
    return conversation


async def take_out(play: Story, conversation_id: UUID, format: Format = "jsonl") -> str:
    export = await export_chat(play.runtime, viewer(play), conversation_id)
    return "".join([piece async for piece in written_chat(play.runtime, export, format)])


async def messages(play: Story, conversation_id: UUID) -> list[Message]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(
            select(Message).where(Message.conversation_id == conversation_id).order_by(Message.seq)
        )
        return list(found)


async def swipes(play: Story, message: Message) -> list[MessageSwipe]:
    async with play.runtime.database.read() as session:
        found = await session.scalars(
            select(MessageSwipe).where(MessageSwipe.message_id == message.id).order_by(MessageSwipe.position)
        )
        return list(found)


async def members(play: Story) -> dict[UUID, SpaceMembership]:
    async with play.runtime.database.read() as session:
        return {row.id: row for row in await session.scalars(select(SpaceMembership))}


def viewer(play: Story) -> Viewer:
    return Viewer(user_id=play.user_id)
