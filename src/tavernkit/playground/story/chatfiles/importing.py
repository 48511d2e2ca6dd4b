"""Importing chats: each becomes a new conversation of a space.

A long file is imported by a job, some messages in each transaction, so that nobody else has to wait long. Its
conversations are prepared in a space that nobody sees, whose id is the job's. With the last step they move into the
space that they are for, with the speakers that only they have. A step and the count of steps are one transaction:
whoever takes the job over goes on behind the last one. When the job ends otherwise, that space is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from msgspec import convert, to_builtins
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatLimits, read_chat
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job, JobFile, Space, SpaceMembership
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, SpaceAccess, space_for
from tavernkit.playground.story.access.personas import lock_persona_of_chat
from tavernkit.playground.story.chatfiles.exporting import members_of
from tavernkit.playground.story.chatfiles.storing import (
    MessageRange,
    NewChat,
    SpeakerFinder,
    begin_conversation,
    build_rows,
    moment_before,
    new_chat,
    pieces_of,
    state_before,
    store_rows,
)
from tavernkit.playground.story.lorebooks.documents import notes_of
from tavernkit.playground.story.lorebooks.links import link_book_of_chat
from tavernkit.playground.story.paths.state import State
from tavernkit.reading import ImportReport
from tavernkit.values import Value

CHAT_IMPORT_KIND = "chat_import"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_MESSAGES = 100_000
MAX_CHATS = 1000
MAX_AT_ONCE = 1000
"""A file with more messages is imported by a job."""


class ChatSource(Value, frozen=True, kw_only=True):
    """What is needed to read a file in the same way again: the title and the names for what it does not name itself."""

    space_id: UUID
    title: str
    user_name: str
    character_name: str
    now: datetime

    def read(self, data: bytes) -> tuple[tuple[ChatFile, ...], ImportReport]:
        """The chats of the file; takes a while, so not to be called in the event loop."""
        return read_chat(
            data,
            now=lambda: self.now,
            user_name=self.user_name,
            character_name=self.character_name,
            limits=ChatLimits(file_bytes=MAX_FILE_BYTES),
        )

    def title_of(self, number: int, count: int) -> str:
        """The title of the conversation that one of several chats becomes."""
        return self.title if count == 1 else f"{self.title} {number + 1}"


async def import_chats(
    runtime: Runtime, viewer: Viewer, space_id: UUID, data: bytes, *, title: str = ""
) -> tuple[list[Conversation], ImportReport] | Job:
    """Make a conversation of each chat in a file of SillyTavern or of another application that it reads; if there is
    much in it, by a job.

    Only who runs the space may: a file puts words into the mouths of its members.
    """
    async with runtime.database.read() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER)
        user_name, character_name = _names(access, [member for member, _ in await members_of(session, space_id)])
    source = ChatSource(
        space_id=space_id,
        title=source_title(title),
        user_name=user_name,
        character_name=character_name,
        now=runtime.clock(),
    )
    chats, report = await prepared_from(source, data)
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        stored = await store_chats(session, runtime, viewer, access, source, chats)
    return stored if isinstance(stored, Job) else (stored, report)


def source_title(title: str) -> str:
    """The title that a file gives to what it becomes; a number may follow it."""
    return titled(title, "Imported chat", limit=180)


async def prepared_from(source: ChatSource, data: bytes) -> tuple[PreparedChats, ImportReport]:
    """The chats of a file, ready to be stored, or a refusal of one that cannot be read."""
    try:
        files, report = await asyncio.to_thread(source.read, data)
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    return await asyncio.to_thread(prepare_chats, files, data), report


class PreparedChats(Value, frozen=True, kw_only=True):
    """The chats of a file; `new` is empty where there is so much in them that a job imports them."""

    files: tuple[ChatFile, ...]
    new: tuple[NewChat, ...]
    data: bytes


def prepare_chats(files: tuple[ChatFile, ...], data: bytes) -> PreparedChats:
    """Make chats ready to be stored; takes a while, so not to be called in the event loop. Refuses too many."""
    total = sum(len(chat.messages) for chat in files)
    if total > MAX_MESSAGES or len(files) > MAX_CHATS:
        raise Refused(
            "too_long",
            _(
                "The file is too large: {messages} messages in {chats} chats. The limit is {most_messages} messages in "
                "{most_chats} chats. Split the file.",
                messages=total,
                chats=len(files),
                most_messages=MAX_MESSAGES,
                most_chats=MAX_CHATS,
            ),
        )
    return PreparedChats(files=files, new=() if total > MAX_AT_ONCE else tuple(map(new_chat, files)), data=data)


async def store_chats(
    session: AsyncSession,
    runtime: Runtime,
    viewer: Viewer,
    access: SpaceAccess,
    source: ChatSource,
    chats: PreparedChats,
) -> list[Conversation] | Job:
    """Make a conversation of each chat in this transaction; if there is much in them, queue the job that does."""
    if not chats.new:
        return await _start_job(session, runtime, viewer, access, source, chats)
    members = await members_of(session, source.space_id)
    conversations: list[Conversation] = []
    for piece in pieces_of(chats.files):
        chat, now = chats.new[piece.chat], runtime.clock()
        if piece.first == 0:
            conversation = await begin_conversation(
                session,
                chat,
                id=runtime.ids(),
                space_id=source.space_id,
                title=source.title_of(piece.chat, len(chats.files)),
                now=now,
            )
            conversations.append(conversation)
            moment, state = now, chat.beginning
        speakers = SpeakerFinder(chat.file, access.space, members, own=access.member, ids=runtime.ids, now=now)
        rows = build_rows(chat, piece, conversation.id, speakers, moment=moment, ids=runtime.ids, state=state)
        await store_rows(session, rows, speakers, now=now)
        moment, state = rows.moment, rows.state
        members = [*members, *((member, None) for member in speakers.new)]
    for conversation in conversations:
        await link_book_of_chat(runtime, session, viewer.user_id, conversation)
        await lock_persona_of_chat(runtime, session, viewer.user_id, conversation)
    return conversations


async def _start_job(
    session: AsyncSession,
    runtime: Runtime,
    viewer: Viewer,
    access: SpaceAccess,
    source: ChatSource,
    chats: PreparedChats,
) -> Job:
    """Lay the file down where any worker finds it, beside a space that nobody sees, which the chats are prepared in."""
    job = await enqueue_job(
        session,
        runtime,
        kind=CHAT_IMPORT_KIND,
        owner_id=viewer.user_id,
        payload={"source": to_builtins(source)},
        total=len(pieces_of(chats.files)),
    )
    await session.flush()
    session.add(JobFile(job_id=job.id, position=0, name=source.title, outcome=None, data=chats.data))
    session.add(
        Space(
            id=job.id,
            owner_id=viewer.user_id,
            kind=access.space.kind,
            name=source.title,
            status="deleting",
            search_scope=access.space.search_scope,
            created_at=source.now,
            updated_at=source.now,
        )
    )
    return job


def _names(access: SpaceAccess, members: Sequence[SpaceMembership]) -> tuple[str, str]:
    """The names for a file that gives none: who brings it, and the first character."""
    character = next((member for member in members if member.kind == "character"), None)
    return (
        "User" if access.member is None else access.member.name_override or access.member.cached_display_name,
        "Character" if character is None else character.name_override or character.cached_display_name,
    )


_GONE = _("The space of this import was deleted or archived, so nothing was imported.")


async def carry_out_chat_import(work: JobWork) -> dict[str, Any]:
    """Store the pieces that are left, then show the conversations."""
    job_id, source = work.claim.job_id, convert(work.claim.payload["source"], ChatSource)
    async with work.runtime.database.read() as session:
        data = await session.scalar(select(JobFile.data).where(JobFile.job_id == job_id))
        is_shown = await session.get(Space, job_id) is None
    if data is None:
        raise TavernKitError(_("The file of this import is gone, so nothing was imported. Import it again."))
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
        self._state: State = {}

    async def carry_out(self) -> None:
        pieces = pieces_of(self._files)
        for done, piece in enumerate(pieces[self._work.claim.done :], start=self._work.claim.done):
            self._work.check()
            if self._chat is None or piece.first == 0:
                self._chat = await asyncio.to_thread(new_chat, self._files[piece.chat])
                self._moment = moment_before(self._chat.file, piece.first, self._source.now)
                self._state = state_before(self._chat, piece.first)
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
        speakers = SpeakerFinder(
            chat.file, space, [*members, *prepared], home_id=job_id, own=own, ids=self._runtime.ids, now=now
        )
        build = partial(
            build_rows,
            chat,
            piece,
            conversation_id,
            speakers,
            moment=self._moment,
            ids=self._runtime.ids,
            state=self._state,
        )
        rows = await asyncio.to_thread(build)
        async with self._runtime.database.write() as session:
            # First, because it locks the job: nobody who has lost it gets any further.
            await self._work.commit_step(session, done)
            await _lock_target(session, self._source.space_id)
            if piece.first == 0:
                title = self._source.title_of(piece.chat, len(self._files))
                await begin_conversation(session, chat, id=conversation_id, space_id=job_id, title=title, now=now)
            await store_rows(session, rows, speakers, now=now)
        self._moment, self._state = rows.moment, rows.state

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
                    await lock_persona_of_chat(self._runtime, session, owner_id, conversation)
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
