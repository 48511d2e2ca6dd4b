"""Importing a long file of chats, some messages in each transaction, so that nobody else has to wait long.

The conversations are prepared in a space that nobody sees, whose id is the job's. With the last step they move into the
space that they are for, with the speakers that only they have. A step and the count of steps are one transaction:
whoever takes the job over goes on behind the last one. When the job ends otherwise, that space is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from msgspec import convert
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import Conversation, JobFile, Space, SpaceMembership
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.story.chatfiles.importing import ChatSource
from tavernkit.playground.story.chatfiles.queries import members_of
from tavernkit.playground.story.chatfiles.speakers import SpeakerFinder
from tavernkit.playground.story.chatfiles.storing import (
    MessageRange,
    NewChat,
    begin_conversation,
    build_rows,
    moment_before,
    new_chat,
    pieces_of,
    store_rows,
)
from tavernkit.playground.story.lorebooks.documents import notes_of
from tavernkit.playground.story.lorebooks.named_links import link_book_of_chat

_GONE = "The space that the chats were for was deleted or archived, so nothing was imported."


async def carry_out_chat_import(work: JobWork) -> dict[str, Any]:
    """Store the pieces that are left, then show the conversations."""
    job_id, source = work.claim.job_id, convert(work.claim.payload["source"], ChatSource)
    async with work.runtime.database.read() as session:
        data = await session.scalar(select(JobFile.data).where(JobFile.job_id == job_id))
        is_shown = await session.get(Space, job_id) is None
    if data is None:
        raise TavernKitError("The file is not there any more, so nothing was imported.")
    files, report = await asyncio.to_thread(source.read, data)
    del data
    if not is_shown:
        await _Import(work, source, files).carry_out()
    return {
        "conversations": [str(_conversation_id(job_id, number)) for number in range(len(files))],
        "format": report.format,
        "notes": [note.model_dump(mode="json") for note in notes_of(report)],
    }


class _Import:
    """The chats of one job, and how far they have been stored."""

    def __init__(self, work: JobWork, source: ChatSource, files: Sequence[ChatFile]) -> None:
        self._work = work
        self._runtime = work.runtime
        self._source = source
        self._files = files
        self._chat: NewChat | None = None
        self._moment = source.now

    async def carry_out(self) -> None:
        pieces = pieces_of(self._files)
        for done, piece in enumerate(pieces[self._work.claim.done :], start=self._work.claim.done):
            self._work.check()
            if self._chat is None or piece.first == 0:
                self._chat = await asyncio.to_thread(new_chat, self._files[piece.chat])
                self._moment = moment_before(self._chat.file, piece.first, self._source.now)
            await self._store(self._chat, piece, done + 1)
        self._work.check()
        await self._show(len(pieces))

    async def _store(self, chat: NewChat, piece: MessageRange, done: int) -> None:
        job_id, now = self._work.claim.job_id, self._runtime.clock()
        conversation_id = _conversation_id(job_id, piece.chat)
        async with self._runtime.database.read() as session:
            space = await session.get(Space, self._source.space_id)
            members = await members_of(session, self._source.space_id)
            prepared = await members_of(session, job_id)
        if space is None:
            raise TavernKitError(_GONE)
        own = next((member for member, _ in members if self._is_own(member)), None)
        speakers = SpeakerFinder.of_chat(
            chat.file, space, [*members, *prepared], home_id=job_id, own=own, ids=self._runtime.ids, now=now
        )
        build = partial(build_rows, chat, piece, conversation_id, speakers, moment=self._moment, ids=self._runtime.ids)
        rows = await asyncio.to_thread(build)
        async with self._runtime.database.write() as session:
            # First, because it locks the job: nobody who has lost it gets any further.
            await self._work.commit_step(session, done)
            await _lock_target(session, self._source.space_id)
            if piece.first == 0:
                title = self._source.title_of(piece.chat, len(self._files))
                await begin_conversation(session, chat, id=conversation_id, space_id=job_id, title=title, now=now)
            await store_rows(session, piece, conversation_id, rows, speakers)
        self._moment = rows.moment

    async def _show(self, done: int) -> None:
        job_id, space_id = self._work.claim.job_id, self._source.space_id
        async with self._runtime.database.write() as session:
            await self._work.commit_step(session, done)
            await _lock_target(session, space_id)
            for model in (Conversation, SpaceMembership):
                await session.execute(update(model).where(model.space_id == job_id).values(space_id=space_id))
            await session.execute(delete(Space).where(Space.id == job_id))
            if (owner_id := self._work.claim.owner_id) is not None:
                for number in range(len(self._files)):
                    conversation = await session.get_one(Conversation, _conversation_id(job_id, number))
                    await link_book_of_chat(self._runtime, session, owner_id, conversation)
            await session.execute(
                update(JobFile).where(JobFile.job_id == job_id).values(outcome={"outcome": "imported"})
            )

    def _is_own(self, member: SpaceMembership) -> bool:
        return member.user_id == self._work.claim.owner_id and member.status == "active"


def _conversation_id(job_id: UUID, number: int) -> UUID:
    return uuid5(job_id, str(number))


async def _lock_target(session: AsyncSession, space_id: UUID) -> None:
    """Let nobody delete the space until this transaction ends; refuse one that is not in use any more."""
    status = await session.scalar(select(Space.status).where(Space.id == space_id).with_for_update(read=True))
    if status != "active":
        raise TavernKitError(_GONE)
