"""Importing a chat that is too long to be held in memory: line by line, some messages in each transaction (V18).

Its conversation is prepared in a space that nobody sees, whose id is the job's; with the last step it moves into the
space that it is for. How far it has come, is how many messages it has: whoever takes the job over reads up to there and
goes on. When the job ends otherwise, that space is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from uuid import UUID, uuid5

from msgspec import convert
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine, stream_chat
from tavernkit.playground.base.database.models import Conversation, Space, SpaceMembership
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.access.access import lock_story
from tavernkit.playground.story.chatfiles.exporting import members_of
from tavernkit.playground.story.chatfiles.messages import CHAT_FILE, FROM_GROUP, beginning_of, delta_of, kept_strays
from tavernkit.playground.story.chatfiles.pictures import without_data
from tavernkit.playground.story.chatfiles.storing import (
    PIECE_MESSAGES,
    ConversationPlace,
    MessageRange,
    NewChat,
    begin_conversation,
    build_rows,
    change_end,
    missing_changes,
    moment_before,
    store_rows,
)
from tavernkit.playground.story.migration.chat_homes import (
    ChatHome,
    home_of_chat,
    open_home,
    speaking_character,
)
from tavernkit.playground.story.migration.chat_links import link_chat, timers_of_chat
from tavernkit.playground.story.migration.chat_media import PictureFinder, note_shown
from tavernkit.playground.story.migration.chats import missing_pictures, notes_of, place_of, title_of
from tavernkit.playground.story.migration.groups import home_of_group_chat
from tavernkit.playground.story.migration.in_step import Parted, bring_up_to_date, compare, with_last
from tavernkit.playground.story.migration.items import Finish, ImportJob, Item, ItemOutcome
from tavernkit.playground.story.migration.markers import touching
from tavernkit.playground.story.migration.steps import step
from tavernkit.playground.story.paths.state import fold
from tavernkit.playground.story.spaces.service import remove_in_steps
from tavernkit.reading import ReportBuilder
from tavernkit.values import JsonObject

MAX_LONG_BYTES = 1024 * 1024 * 1024
LIMITS = ChatLimits(file_bytes=MAX_LONG_BYTES, lines=5_000_000)
PAGE_BYTES = 2 * 1024 * 1024
"""A page has at most so much text, or one message."""


class LongChat:
    """A chat of the folder, read some messages at a time. What is said about the file is that of the last reading."""

    def __init__(self, job: ImportJob, path: str) -> None:
        self.header: ChatHeader | None = None
        self.finder = PictureFinder(job)
        self.report = ReportBuilder()
        self._strays: list[StrayLine] = []
        self._source = job.source
        self._path = path

    @property
    def strays(self) -> Sequence[StrayLine]:
        return self._strays

    async def pages(self) -> AsyncGenerator[NewChat]:
        """The messages from the beginning; the last page may have none."""
        self.report, self._strays = ReportBuilder(), []
        file = await asyncio.to_thread(self._source.open, self._path)
        with file:
            lines = stream_chat(file, report=self.report, limits=LIMITS)
            while (page := await asyncio.to_thread(self._next, lines)) is not None:
                yield page

    def _next(self, lines: Iterator[ChatHeader | ChatMessage | StrayLine]) -> NewChat | None:
        messages: list[ChatMessage] = []
        size = 0
        for line in lines:
            if isinstance(line, ChatMessage):
                messages.append(line)
                size += len(line.text) + sum(map(len, line.swipes))
                if len(messages) == PIECE_MESSAGES or size > PAGE_BYTES:
                    break
            elif isinstance(line, StrayLine):
                self._strays.append(line)
            else:
                self.header = line
        else:
            if not messages:
                return None
        file, pictures = without_data(ChatFile(messages=tuple(messages)), self.finder.find)
        return NewChat(file=file, pictures=pictures, beginning={}, put={}, gone=[])

    @property
    def metadata(self) -> JsonObject:
        return {} if self.header is None else self.header.chat_metadata


async def import_long_chat(work: JobWork, job: ImportJob, item: Item, finish: Finish) -> None:
    """Import one chat of any length; `finish` is called in the transaction that shows it."""
    if item.size > MAX_LONG_BYTES:
        raise Refused(
            "too_long", _("The chat has {size} bytes. The limit is {limit}.", size=item.size, limit=MAX_LONG_BYTES)
        )
    chat = LongChat(job, item.path)
    await _LongImport(work, job, item, finish, chat).carry_out()


class _LongImport:
    """One long chat, and how far it has been stored."""

    def __init__(self, work: JobWork, job: ImportJob, item: Item, finish: Finish, chat: LongChat) -> None:
        self._work = work
        self._job = job
        self._item = item
        self._finish = finish
        self._chat = chat
        self._database = work.runtime.database
        self._hidden_id = work.claim.job_id
        self._id = uuid5(work.claim.job_id, item.path)
        self._notes: tuple[str, ...] = ()

    async def carry_out(self) -> None:
        async with aclosing(self._chat.pages()) as pages:
            # With the first page, the header is read.
            first = await anext(pages, None)
        place: ConversationPlace | None = None
        if self._item.target_id is not None:
            parted = await self._bring_up_to_date(self._item.target_id)
            if parted is None:
                return
            place, self._notes = parted.place, (parted.note,)
        home = await self._begin(() if first is None else first.file.messages, place)
        await self._store(home)
        self._work.check()
        await self._show(home.space.id)

    @asynccontextmanager
    async def _step(self) -> AsyncIterator[AsyncSession]:
        async with step(self._work, self._job.import_id, self._job.done) as (session, _row):
            yield session

    async def _bring_up_to_date(self, conversation_id: UUID) -> Parted | None:
        """Add what is new to the conversation that the file has become before, unless they have parted."""
        async with self._database.read() as session:
            # Without a lock: it may take long.
            conversation = await session.get_one(Conversation, conversation_id)
            found = await compare(session, self._job, conversation, self._chat)
        async with self._step() as session:
            conversation = await lock_story(session, conversation_id)
            home = await open_home(session, self._job, conversation.space_id, is_group=self._is_group)
            outcome = await bring_up_to_date(session, self._job, self._item, conversation, self._chat, home, found)
            if isinstance(outcome, Parted):
                return outcome
            await note_shown(session, self._job, tuple(self._chat.finder.shown), conversation_id)
            await self._finish(session, outcome.with_(notes=(*outcome.notes, *self._said())))
            return None

    async def _begin(self, messages: Sequence[ChatMessage], place: ConversationPlace | None) -> ChatHome:
        """The space that the chat is for, and a conversation without messages in one that nobody sees; both may have
        been made before this worker took the job over."""
        home = await self._begun()
        if home is not None:
            return home
        chat, now = self._chat, self._job.runtime.clock()
        async with self._step() as session:
            home, header = await self._home(session, messages)
            kept: JsonObject = {}
            if header is not chat.header:
                chat.header, kept = header, {FROM_GROUP: True}
            if place is None:
                place, notes = await place_of(session, self._job, self._item, home)
                self._notes += notes
            session.add(
                Space(
                    id=self._hidden_id,
                    owner_id=self._job.viewer.user_id,
                    kind=home.space.kind,
                    name=title_of(self._item.path),
                    status="deleting",
                    prompt_settings={_TARGET: str(home.space.id), _NOTES: [*map(str, self._notes)]},
                    search_scope=home.space.search_scope,
                    created_at=now,
                    updated_at=now,
                )
            )
            await session.flush()
            file = ChatFile(header=chat.header)
            timers, more = await timers_of_chat(session, self._job, chat.metadata)
            await begin_conversation(
                session,
                NewChat(file=file, beginning=beginning_of(file), put={}, gone=[]),
                id=self._id,
                space_id=self._hidden_id,
                title=title_of(self._item.path),
                now=now,
                place=place,
                kept={**kept, **more, _STATE: timers},
            )
        return home

    async def _begun(self) -> ChatHome | None:
        """What an earlier worker has begun. What another file has left behind is removed."""
        async with self._database.read() as session:
            hidden = await session.get(Space, self._hidden_id)
            conversation = await session.get(Conversation, self._id)
            if hidden is not None and conversation is not None:
                self._notes = tuple(convert(hidden.prompt_settings.get(_NOTES, []), list[str]))
                kept = conversation.settings.get(CHAT_FILE)
                header = kept.get("header") if isinstance(kept, dict) else None
                self._chat.header = None if header is None else convert(header, ChatHeader)
                space_id = UUID(str(hidden.prompt_settings[_TARGET]))
                home = await open_home(session, self._job, space_id, is_group=self._is_group)
                home.members.extend(await members_of(session, self._hidden_id))
                return home
        if hidden is not None:
            await remove_in_steps(self._work.runtime, self._hidden_id, self._work.check)
        return None

    async def _home(self, session: AsyncSession, messages: Sequence[ChatMessage]) -> tuple[ChatHome, ChatHeader | None]:
        header = self._chat.header
        if self._is_group:
            home, header, self._notes = await home_of_group_chat(session, self._job, self._item, header, messages)
            return home, header
        name = speaking_character(header, messages)
        return await home_of_chat(session, self._job, self._item.path, name), header

    async def _store(self, home: ChatHome) -> None:
        """Store the pages that are left."""
        async with self._database.read() as session:
            conversation = await session.get_one(Conversation, self._id)
        file = ChatFile(header=self._chat.header)
        kept = conversation.settings.get(CHAT_FILE)
        timers = kept.get(_STATE) if isinstance(kept, dict) else None
        state, moment, start = beginning_of(file), self._item.modified or self._job.now, 0
        async for page, is_last in with_last(self._chat.pages()):
            self._work.check()
            count = len(page.file.messages)
            if start + count <= conversation.last_seq:
                state = fold(state, map(delta_of, page.file.messages))
                moment = moment_before(page.file, count, moment)
            else:
                speakers = home.speakers(self._job, self._chat.header, home_id=self._hidden_id)
                rows = await asyncio.to_thread(
                    build_rows,
                    page,
                    MessageRange(chat=0, first=0, end=count),
                    self._id,
                    speakers,
                    moment=moment,
                    ids=self._job.runtime.ids,
                    state=state,
                    start=start,
                )
                if is_last:
                    put, gone = missing_changes(file, rows.state)
                    change_end(rows, {**put, **(timers if isinstance(timers, dict) else {})}, gone)
                async with self._step() as session:
                    await store_rows(session, rows, speakers, now=self._job.runtime.clock())
                    await session.execute(
                        update(Conversation)
                        .where(Conversation.id == self._id)
                        .values(last_seq=start + count, messages_count=start + count, updated_at=rows.moment)
                    )
                home.members.extend((member, None) for member in speakers.new)
                state, moment = rows.state, rows.moment
            start += count

    async def _show(self, space_id: UUID) -> None:
        """Move the conversation into the space that it is for, with the speakers that only it has."""
        async with self._step() as session:
            status = await session.scalar(select(Space.status).where(Space.id == space_id).with_for_update(read=True))
            if status in (None, "deleting"):
                raise Refused("not_found", _("The space of this chat was deleted, so it was not imported."))
            if self._is_group:
                await touching(session, self._job, "space", space_id)
            for model in (Conversation, SpaceMembership):
                await session.execute(
                    update(model).where(model.space_id == self._hidden_id).values(space_id=space_id),
                    execution_options={"synchronize_session": False},
                )
            await session.execute(delete(Space).where(Space.id == self._hidden_id))
            conversation = await session.get_one(Conversation, self._id)
            kept = dict(conversation.settings[CHAT_FILE])
            kept.pop(_STATE, None)
            if self._chat.strays:
                kept["strays"] = kept_strays(self._chat.strays)
            moment = conversation.updated_at
            conversation.settings = {**conversation.settings, CHAT_FILE: kept}
            await session.flush()
            missing = await link_chat(session, self._job, conversation, self._chat.metadata)
            await note_shown(session, self._job, tuple(self._chat.finder.shown), conversation.id)
            await session.execute(update(Conversation).where(Conversation.id == self._id).values(updated_at=moment))
            outcome = ItemOutcome(
                verdict="exact" if self._chat.report.build("sillytavern").is_exact else "converted",
                target_kind="conversation",
                target_id=self._id,
                notes=(*self._notes, *self._said(), *missing),
            )
            await self._finish(session, outcome)
        self._job.cache.pop(ChatHome, None)

    @property
    def _is_group(self) -> bool:
        return self._item.kind == "group_chat"

    def _said(self) -> tuple[str, ...]:
        return (*notes_of(self._chat.report), *missing_pictures(self._chat.finder))


_TARGET = "import_target"
_NOTES = "import_notes"
_STATE = "import_state"
"""Where what is prepared keeps where it goes to, what is said about it, and what its last message is to set."""
