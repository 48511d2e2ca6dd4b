"""Bringing a conversation up to date with its file, after somebody went on with the chat elsewhere (V17).

A file that continues the conversation is appended to it. One that has parted from it becomes a branch, at the last
message that both have. One that is a beginning of it changes nothing. Swipes that only the file has are added. Where
nothing was changed here, the conversation says afterwards what the file says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from msgspec import convert
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatHeader, ChatMessage, StrayLine
from tavernkit.playground.base.blobs.store import missing, store
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import (
    Conversation,
    ConversationInjection,
    Message,
    MessagePicture,
    MessageSwipe,
    OutboxEvent,
    TextContent,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.realtime.outbox import PAGE
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.chatfiles.messages import APPLIED, CHAT_FILE, THEIRS, NewMessage, kept_of, new_message
from tavernkit.playground.story.chatfiles.storing import (
    PIECE_MESSAGES,
    ConversationPlace,
    MessageRange,
    NewChat,
    add_injections,
    build_rows,
    change_end,
    missing_changes,
    picture_rows,
    set_file,
    store_rows,
)
from tavernkit.playground.story.migration.chat_homes import ChatHome
from tavernkit.playground.story.migration.chat_links import link_chat, timers_of_chat
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemOutcome
from tavernkit.playground.story.paths.state import end_of_path, path_changed, state_at
from tavernkit.playground.story.paths.variables import record_delta
from tavernkit.playground.story.settings_schema.resolving import apply_changes
from tavernkit.values import Json, JsonObject, Value


class PagedChat(Protocol):
    """A chat that is read some messages at a time, as often as somebody wants to. Of what is no message, everything is
    known when the last page has been read."""

    @property
    def header(self) -> ChatHeader | None: ...
    @property
    def strays(self) -> Sequence[StrayLine]: ...
    def pages(self) -> AsyncGenerator[NewChat]: ...


@dataclass(frozen=True)
class WholeChat:
    """A chat that has been read as a whole."""

    chat: NewChat

    @property
    def header(self) -> ChatHeader | None:
        return self.chat.file.header

    @property
    def strays(self) -> Sequence[StrayLine]:
        return self.chat.file.strays

    async def pages(self) -> AsyncGenerator[NewChat]:
        messages = self.chat.file.messages
        for first in range(0, len(messages), PIECE_MESSAGES):
            yield self.chat.with_(file=ChatFile(messages=messages[first : first + PIECE_MESSAGES]), put={}, gone=[])


class Parted(Value, frozen=True, kw_only=True):
    """The file goes on differently: where its branch stands; nowhere, if both have nothing in common."""

    place: ConversationPlace | None
    note: str


class MessageHere(Value, frozen=True, kw_only=True):
    """A message of the conversation with its swipes: their ids, texts and metadata."""

    id: UUID
    seq: int
    role: str
    visibility: str
    metadata: JsonObject
    active: int
    swipes: tuple[tuple[UUID, str, JsonObject], ...]

    def is_same_as(self, message: ChatMessage) -> bool:
        """Whether it is the same message, perhaps with other swipes, or with another one shown."""
        if (self.role == "user") != message.is_user:
            return False
        own = [text for _id, text, _metadata in self.swipes]
        return storable(message.text) in own or own[self.active] in map(storable, message.swipes)

    def says(self, new: NewMessage) -> bool:
        """Whether all that a file says of a message is stored."""
        return (self.role, self.visibility, self.active, _plain(self.metadata)) == (
            *(new.role, new.visibility, new.active),
            _plain(new.metadata),
        ) and [(text, _plain(metadata)) for _id, text, metadata in self.swipes] == [
            (swipe.text, _plain(swipe.metadata)) for swipe in new.swipes
        ]


def _plain(metadata: JsonObject) -> JsonObject:
    """Metadata without the ids of texts, which are others each time that a file is read."""
    theirs = metadata.get(THEIRS)
    if not isinstance(theirs, Mapping) or "text_id" not in theirs:
        return metadata
    return {**metadata, THEIRS: {key: value for key, value in theirs.items() if key != "text_id"}}


async def _stored_messages(session: AsyncSession, conversation_id: UUID) -> AsyncGenerator[MessageHere]:
    """The messages that are not deleted, in order."""
    behind = 0
    of_conversation = (Message.conversation_id == conversation_id, Message.visibility != "hidden")
    columns = select(
        Message.id, Message.seq, Message.role, Message.visibility, Message.metadata_, Message.active_swipe_id
    )
    while True:
        query = columns.where(*of_conversation, Message.seq > behind).order_by(Message.seq).limit(PIECE_MESSAGES)
        rows = (await session.execute(query)).all()
        swipes: dict[UUID, list[tuple[UUID, str, JsonObject]]] = {row.id: [] for row in rows}
        found = await session.execute(
            select(MessageSwipe.message_id, MessageSwipe.id, TextContent.content, MessageSwipe.metadata_)
            .join(TextContent, TextContent.id == MessageSwipe.text_id)
            .where(MessageSwipe.message_id.in_(list(swipes)))
            .order_by(MessageSwipe.message_id, MessageSwipe.position)
        )
        for message_id, *swipe in found:
            swipes[message_id].append((swipe[0], swipe[1], swipe[2]))
        for row in rows:
            own = swipes[row.id]
            yield MessageHere(
                id=row.id,
                seq=row.seq,
                role=row.role,
                visibility=row.visibility,
                metadata=row.metadata_,
                active=next((place for place, swipe in enumerate(own) if swipe[0] == row.active_swipe_id), 0),
                swipes=tuple(own),
            )
        if len(rows) < PIECE_MESSAGES:
            return
        behind = rows[-1].seq


@dataclass(kw_only=True)
class Comparison:
    """A conversation beside its file: how many messages both have, and which of these say more in the file. `version`
    is what the conversation was at then."""

    version: tuple[Any, ...] = ()
    common: int = 0
    last: MessageHere | None = None
    differing: list[int] = field(default_factory=list)
    is_longer: bool = False
    has_parted: bool = False
    has_more: bool = False


def version_of(conversation: Conversation) -> tuple[Any, ...]:
    """Another one after every change of its messages."""
    return conversation.last_seq, conversation.last_event, conversation.updated_at


async def compare(session: AsyncSession, job: ImportJob, conversation: Conversation, chat: PagedChat) -> Comparison:
    """Go through both from the beginning, as far as they are the same."""
    found = Comparison(version=version_of(conversation))
    async with aclosing(chat.pages()) as pages, aclosing(_stored_messages(session, conversation.id)) as stored:
        async for page in pages:
            for message in page.file.messages:
                here = await anext(stored, None)
                if here is None or not here.is_same_as(message):
                    found.has_more, found.has_parted = True, here is not None
                    return found
                if not here.says(new_message(message, job.runtime.ids)):
                    found.differing.append(found.common)
                found.common += 1
                found.last = here
        found.is_longer = await anext(stored, None) is not None
    return found


async def bring_up_to_date(
    session: AsyncSession,
    job: ImportJob,
    item: Item,
    conversation: Conversation,
    chat: PagedChat,
    home: ChatHome,
    found: Comparison | None = None,
) -> ItemOutcome | Parted:
    """Add what only the file has to its conversation, which is locked; or say where they have parted. `found` is what
    comparing them has shown, if that was done before."""
    if found is None or found.version != version_of(conversation):
        found = await compare(session, job, conversation, chat)
    if found.has_parted:
        if not item.is_changed_here or item.conflict == "both":
            return _parted(conversation, found)
        if item.conflict == "keep":
            note = _("The chat goes on differently here and in the folder. What is here was kept.")
            return ItemOutcome(
                verdict="unchanged",
                target_kind="conversation",
                target_id=conversation.id,
                notes=(note,),
                merged=True,
            )
        behind = 0 if found.last is None else found.last.seq
        await _hide_behind(session, conversation, behind, job.runtime.clock())
    update_ = _Update(session, job, item, conversation, home)
    await update_.carry_out(chat, found)
    notes = await update_.take_header(chat)
    await update_.announce()
    return _outcome(item, conversation, found, update_, notes)


def _parted(conversation: Conversation, found: Comparison) -> Parted:
    place = None
    if found.last is not None:
        place = ConversationPlace(
            kind="branch",
            parent_id=conversation.id,
            root_id=conversation.root_conversation_id or conversation.id,
            message_id=found.last.id,
        )
    note = ngettext(
        "The chat goes on differently here, behind {count} message. What is in the folder became a branch.",
        "The chat goes on differently here, behind {count} messages. What is in the folder became a branch.",
        found.common,
    )
    return Parted(place=place, note=note)


async def _hide_behind(session: AsyncSession, conversation: Conversation, seq: int, now: datetime) -> None:
    """Delete the messages behind one, so that they can be restored."""
    gone = await session.scalars(
        update(Message)
        .where(Message.conversation_id == conversation.id, Message.seq > seq, Message.visibility != "hidden")
        .values(hidden_from=Message.visibility, visibility="hidden", trashed_at=now, revision=Message.revision + 1)
        .returning(Message.id),
        execution_options={"synchronize_session": False},
    )
    conversation.messages_count -= len(gone.all())
    await session.flush()
    await path_changed(session, conversation.id, seq)


class _Update:
    """What is added to one conversation. `changed` and `added` are the messages of which pages are told."""

    def __init__(
        self, session: AsyncSession, job: ImportJob, item: Item, conversation: Conversation, home: ChatHome
    ) -> None:
        self.changed: list[UUID] = []
        self.added: list[UUID] = []
        self._session = session
        self._job = job
        self._conversation = conversation
        self._home = home
        self._is_changed_here = item.is_changed_here
        self._timers: dict[str, Json] = {}

    async def carry_out(self, chat: PagedChat, found: Comparison) -> None:
        """Change the messages that both have, and append those that only the file has."""
        if found.differing:
            await self._change(chat, found.differing)
        if found.has_more:
            await self._append(chat, found.common)
        elif not self._is_changed_here:
            await self._take_variables(chat)

    async def _change(self, chat: PagedChat, places: Sequence[int]) -> None:
        """Change the messages at these places, some at a time."""
        for start in range(0, len(places), PIECE_MESSAGES):
            for here, message, page in await self._pairs(chat, set(places[start : start + PIECE_MESSAGES])):
                new = new_message(message, self._job.runtime.ids)
                if self._is_changed_here:
                    await self._add_swipes(here, new, page)
                else:
                    await self._rewrite(here, new, page)

    async def _pairs(self, chat: PagedChat, places: set[int]) -> list[tuple[MessageHere, ChatMessage, NewChat]]:
        found: list[tuple[MessageHere, ChatMessage, NewChat]] = []
        place, last = 0, max(places)
        stored = _stored_messages(self._session, self._conversation.id)
        async with aclosing(chat.pages()) as pages, aclosing(stored):
            async for page in pages:
                for message in page.file.messages:
                    here = await anext(stored, None)
                    if here is None or place > last:
                        return found
                    if place in places:
                        found.append((here, message, page))
                    place += 1
        return found

    async def _rewrite(self, here: MessageHere, new: NewMessage, page: NewChat) -> None:
        """Let a message say what the file says; what its swipes have changed in the story stays."""
        known = [id for id, _text, _metadata in here.swipes]
        ids = [known[place] if place < len(known) else self._job.runtime.ids() for place in range(len(new.swipes))]
        await self._session.execute(delete(MessageSwipe).where(MessageSwipe.id.in_(known[len(ids) :])))
        await self._session.execute(delete(MessagePicture).where(MessagePicture.swipe_id.in_(ids)))
        texts = [{"id": swipe.text_id, "content": swipe.text} for swipe in new.swipes]
        await insert_rows(self._session, TextContent, texts)
        for id, swipe in zip(known, new.swipes, strict=False):
            await self._session.execute(
                update(MessageSwipe)
                .where(MessageSwipe.id == id)
                .values(text_id=swipe.text_id, metadata_=swipe.metadata)
            )
        await self._insert_swipes(here, new, ids, range(len(known), len(ids)))
        await self._store_pictures(new, ids, range(len(ids)), page)
        await self._session.execute(
            update(Message)
            .where(Message.id == here.id)
            .values(
                role=new.role,
                visibility=new.visibility,
                metadata_=new.metadata,
                active_swipe_id=ids[new.active],
                text_id=new.swipes[new.active].text_id,
                swipes_count=len(ids),
                revision=Message.revision + 1,
            )
        )
        if new.active != here.active:
            await path_changed(self._session, self._conversation.id, here.seq)
        self.changed.append(here.id)

    async def _add_swipes(self, here: MessageHere, new: NewMessage, page: NewChat) -> None:
        """Add the swipes that only the file has behind those that are there."""
        texts = [text for _id, text, _metadata in here.swipes]
        wanted = [place for place, swipe in enumerate(new.swipes) if swipe.text not in texts]
        if not wanted:
            return
        added = new.with_(swipes=tuple(new.swipes[place] for place in wanted))
        ids = [self._job.runtime.ids() for _swipe in added.swipes]
        rows = [{"id": swipe.text_id, "content": swipe.text} for swipe in added.swipes]
        await insert_rows(self._session, TextContent, rows)
        await self._insert_swipes(here, added, ids, range(len(ids)), behind=len(texts))
        await self._store_pictures(added, ids, range(len(ids)), page)
        await self._session.execute(
            update(Message)
            .where(Message.id == here.id)
            .values(swipes_count=len(texts) + len(ids), revision=Message.revision + 1)
        )
        self.changed.append(here.id)

    async def _insert_swipes(
        self, here: MessageHere, new: NewMessage, ids: Sequence[UUID], places: range, *, behind: int = 0
    ) -> None:
        await insert_rows(
            self._session,
            MessageSwipe,
            [
                {
                    "id": ids[place],
                    "message_id": here.id,
                    "position": behind + place,
                    "text_id": new.swipes[place].text_id,
                    "state_delta": new.swipes[place].state_delta,
                    "metadata_": new.swipes[place].metadata,
                    "created_at": self._job.now,
                }
                for place in places
            ],
        )

    async def _store_pictures(self, new: NewMessage, ids: Sequence[UUID], places: range, page: NewChat) -> None:
        rows: list[dict[str, Any]] = []
        for place in places:
            rows += picture_rows(new.swipes[place], ids[place], page.pictures, self._job.runtime.ids, self._job.now)
        for sha256 in await missing(self._session, [row["sha256"] for row in rows]):
            await store(self._session, [await asyncio.to_thread(page.pictures[sha256].read)], self._job.now)
        await insert_rows(self._session, MessagePicture, rows)

    async def _append(self, chat: PagedChat, common: int) -> None:
        """Store the messages behind the first `common` ones; the last makes up for variables that have changed."""
        conversation, runtime = self._conversation, self._job.runtime
        state = await state_at(self._session, conversation.id, conversation.last_seq)
        start, moment = conversation.last_seq, self._job.now
        metadata: JsonObject = {} if chat.header is None else chat.header.chat_metadata
        timers, self._timers = await timers_of_chat(self._session, self._job, metadata)
        async for new, is_last in with_last(_behind(chat, common)):
            speakers = self._home.speakers(self._job, chat.header)
            rows = build_rows(
                new,
                MessageRange(chat=0, first=0, end=len(new.file.messages)),
                conversation.id,
                speakers,
                moment=moment,
                ids=runtime.ids,
                state=state,
                start=start,
            )
            if is_last:
                put, gone = missing_changes(ChatFile(header=chat.header), rows.state)
                change_end(rows, {**put, **timers}, gone)
            await store_rows(self._session, rows, speakers, now=runtime.clock())
            self._home.members.extend((member, None) for member in speakers.new)
            self.added.extend(row["id"] for row in rows.messages)
            start, moment, state = start + len(rows.messages), rows.moment, rows.state
        conversation.last_seq, conversation.messages_count = start, conversation.messages_count + len(self.added)
        await self._session.flush()

    async def _take_variables(self, chat: PagedChat) -> None:
        """Let the last message make up for variables that were changed in the file alone."""
        end = await end_of_path(self._session, self._conversation.id)
        if end is None:
            return
        state = await state_at(self._session, self._conversation.id, self._conversation.last_seq)
        put, gone = missing_changes(ChatFile(header=chat.header), state)
        if put or gone:
            await record_delta(self._session, *end, set=put, unset=gone)

    async def take_header(self, chat: PagedChat) -> list[str]:
        """Keep what the file says now; where nothing was changed here, its settings, injections and links count."""
        conversation, file = self._conversation, ChatFile(header=chat.header, strays=tuple(chat.strays))
        before = conversation.settings.get(CHAT_FILE)
        kept: dict[str, Json] = dict(before) if isinstance(before, dict) else {}
        if self._is_changed_here:
            conversation.settings = {**conversation.settings, CHAT_FILE: {**kept, **kept_of(file)}}
            await self._session.flush()
            return []
        apply_changes(conversation, dict.fromkeys(convert(kept.pop(APPLIED, []), list[str])))
        kept.pop("strays", None)
        set_file(conversation, file, {**{key: value for key, value in kept.items() if key != "header"}, **self._timers})
        of_conversation = ConversationInjection.conversation_id == conversation.id
        await self._session.execute(delete(ConversationInjection).where(of_conversation))
        add_injections(self._session, conversation, file, after=conversation.last_seq)
        await self._session.flush()
        metadata: JsonObject = {} if chat.header is None else chat.header.chat_metadata
        return await link_chat(self._session, self._job, conversation, metadata)

    async def announce(self) -> None:
        """Tell open pages; one that is told of very many messages loads itself anew."""
        events = [("message_changed", id) for id in self.changed] + [("message", id) for id in self.added]
        if not events:
            return
        events, conversation, now = events[-PAGE:], self._conversation, self._job.runtime.clock()
        first = conversation.last_event + 1
        await self._session.execute(
            insert(OutboxEvent),
            [
                {
                    "conversation_id": conversation.id,
                    "seq": seq,
                    "kind": kind,
                    "payload": {"message_id": str(id)},
                    "created_at": now,
                }
                for seq, (kind, id) in enumerate(events, start=first)
            ],
        )
        conversation.last_event, conversation.updated_at = first + len(events) - 1, now
        await self._session.flush()
        announce(self._session, conversation_topic(conversation.id), seq=conversation.last_event)


async def _behind(chat: PagedChat, common: int) -> AsyncIterator[NewChat]:
    """The messages of a chat behind its first ones."""
    left = common
    async for page in chat.pages():
        new = page.file.messages[left:]
        left = max(left - len(page.file.messages), 0)
        if new:
            yield page.with_(file=page.file.with_(messages=new))


async def with_last(pages: AsyncIterator[NewChat]) -> AsyncIterator[tuple[NewChat, bool]]:
    """The pages, and whether each is the last."""
    waiting: NewChat | None = None
    async for page in pages:
        if waiting is not None:
            yield waiting, False
        waiting = page
    if waiting is not None:
        yield waiting, True


def _outcome(
    item: Item, conversation: Conversation, found: Comparison, made: _Update, notes: Sequence[str]
) -> ItemOutcome:
    """What to say about it. A conversation that was changed here, or is longer than the file, has more in it."""
    said: list[str] = []
    if made.added:
        said.append(ngettext("{count} new message was added.", "{count} new messages were added.", len(made.added)))
    if made.changed:
        said.append(ngettext("{count} message was changed.", "{count} messages were changed.", len(made.changed)))
    if found.is_longer:
        said.append(_("The conversation is longer here than in the folder."))
    is_same = not made.added and not made.changed
    return ItemOutcome(
        verdict="unchanged" if is_same else "converted" if item.is_changed_here or found.is_longer else "exact",
        target_kind="conversation",
        target_id=conversation.id,
        notes=(*said, *notes),
        merged=item.is_changed_here or found.is_longer,
    )
