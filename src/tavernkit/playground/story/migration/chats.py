"""Importing chats: each file becomes a conversation, and branches and checkpoints form a tree."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from uuid import UUID

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatHeader, ChatMessage, StrayLine, stream_chat
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import Conversation, ImportedFile, Message
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import lock_story
from tavernkit.playground.story.chatfiles.storing import (
    ConversationPlace,
    LateSpeakers,
    MessageRows,
    NewChat,
    begin_conversation,
    build_rows,
    change_end,
    moment_before,
    new_chat,
    pieces_of,
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
from tavernkit.playground.story.migration.in_step import WholeChat, bring_up_to_date
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.reading import ReportBuilder
from tavernkit.values import JsonObject, Value

MOST_NOTES = 20
_MOST_NAMED = 5
_BUILT_AHEAD = 2_000


class PreparedChat(Value, frozen=True, kw_only=True):
    """A chat that has been read. `rows` are its messages, unless there are very many; `shown` are the paths of the
    pictures of the folder that it shows."""

    id: UUID
    chat: NewChat
    speakers: LateSpeakers
    rows: Sequence[MessageRows]
    moment: datetime
    shown: tuple[str, ...]
    notes: tuple[str, ...]
    is_exact: bool

    @property
    def header(self) -> ChatHeader | None:
        return self.chat.file.header

    @property
    def metadata(self) -> JsonObject:
        return {} if self.header is None else self.header.chat_metadata


def prepare_chat(job: ImportJob, item: Item, data: bytes) -> PreparedChat | None:
    """Read a chat; None for a file without anything in it."""
    if not data or data.isspace():
        return None
    report, finder = ReportBuilder(), PictureFinder(job)
    chat = new_chat(chat_of(stream_chat(BytesIO(data), report=report)), finder.find)
    prepared = PreparedChat(
        id=job.runtime.ids(),
        chat=chat,
        speakers=LateSpeakers(),
        rows=(),
        moment=item.modified or job.now,
        shown=tuple(finder.shown),
        notes=(*notes_of(report), *missing_pictures(finder)),
        is_exact=report.build("sillytavern").is_exact,
    )
    # What goes into a conversation that is there is compared with it first.
    is_built = item.target_id is None and len(chat.file.messages) <= _BUILT_AHEAD
    return prepared.with_(rows=list(_rows(job, prepared))) if is_built else prepared


def chat_of(lines: Iterable[ChatHeader | ChatMessage | StrayLine]) -> ChatFile:
    """A whole chat of its lines."""
    header: ChatHeader | None = None
    messages: list[ChatMessage] = []
    strays: list[StrayLine] = []
    for line in lines:
        if isinstance(line, ChatMessage):
            messages.append(line)
        elif isinstance(line, StrayLine):
            strays.append(line)
        else:
            header = line
    return ChatFile(header=header, messages=tuple(messages), strays=tuple(strays))


def _rows(job: ImportJob, prepared: PreparedChat) -> Iterator[MessageRows]:
    chat, moment, state = prepared.chat, prepared.moment, prepared.chat.beginning
    for piece in pieces_of([chat.file]):
        rows = build_rows(chat, piece, prepared.id, prepared.speakers, moment=moment, ids=job.runtime.ids, state=state)
        moment, state = rows.moment, rows.state
        yield rows


def notes_of(report: ReportBuilder) -> tuple[str, ...]:
    """What the reader of a file has to say, as far as somebody would read it."""
    notes = tuple(map(str, report.build("sillytavern").notes))
    if len(notes) <= MOST_NOTES:
        return notes
    return (*notes[:MOST_NOTES], _("{count} further notes are left out.", count=len(notes) - MOST_NOTES))


def missing_pictures(finder: PictureFinder) -> tuple[str, ...]:
    """The sentence that names pictures which are not where a chat looks for them."""
    missing = tuple(finder.missing)
    if not missing:
        return ()
    named = listed(missing[:_MOST_NAMED])
    if len(missing) <= _MOST_NAMED:
        return (_("The chat shows pictures that are missing in the folder: {names}.", names=named),)
    return (
        _(
            "The chat shows {count} pictures that are missing in the folder, such as {names}.",
            count=len(missing),
            names=named,
        ),
    )


class ChatHandler:
    """Chats with one character."""

    is_group = False

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedChat | None:
        return prepare_chat(job, item, data)

    async def store(
        self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedChat | None
    ) -> ItemOutcome:
        if prepared is None:
            return EMPTY
        if item.target_id is not None:
            return await store_again(session, job, item, prepared, is_group=self.is_group)
        return await self.store_new(session, job, item, prepared)

    async def store_new(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedChat) -> ItemOutcome:
        """Store a chat that has not been imported before."""
        name = speaking_character(prepared.header, prepared.chat.file.messages)
        home = await home_of_chat(session, job, item.path, name)
        return await store_chat(session, job, item, prepared, home)


EMPTY = ItemOutcome(verdict="kept", notes=(_("The file is empty."),))


async def store_again(
    session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedChat, *, is_group: bool
) -> ItemOutcome:
    """Bring a conversation up to date with its file, or make a branch of it where the two have parted."""
    conversation = await lock_story(session, existing_id(item))
    home = await open_home(session, job, conversation.space_id, is_group=is_group)
    step = await bring_up_to_date(session, job, item, conversation, WholeChat(prepared.chat), home)
    if isinstance(step, ItemOutcome):
        await note_shown(session, job, prepared.shown, conversation.id)
        return step.with_(notes=(*step.notes, *prepared.notes))
    outcome = await store_chat(session, job, item, prepared, home, place=step.place)
    return outcome.with_(notes=(step.note, *outcome.notes))


def existing_id(item: Item) -> UUID:
    """The conversation that a file has become before."""
    if item.target_id is None:
        raise LookupError(f"{item.path} has become nothing yet")
    return item.target_id


async def store_chat(
    session: AsyncSession,
    job: ImportJob,
    item: Item,
    prepared: PreparedChat,
    home: ChatHome,
    *,
    place: ConversationPlace | None = None,
    kept: JsonObject | None = None,
) -> ItemOutcome:
    """Make a conversation of a chat in this transaction; `place` is where it stands in a tree, if not where the scan
    has found."""
    notes: tuple[str, ...] = ()
    if place is None:
        place, notes = await place_of(session, job, item, home)
    timers, more = await timers_of_chat(session, job, prepared.metadata)
    chat, count = prepared.chat, len(prepared.chat.file.messages)
    if timers and not count:
        chat = chat.with_(beginning={**chat.beginning, **timers})
    conversation = await begin_conversation(
        session,
        chat,
        id=prepared.id,
        space_id=home.space.id,
        title=title_of(item.path),
        now=job.runtime.clock(),
        updated_at=moment_before(chat.file, count, prepared.moment),
        place=place,
        kept={**(kept or {}), **more},
    )
    pieces = iter(prepared.rows or _rows(job, prepared))
    while (rows := next(pieces, None) if prepared.rows else await asyncio.to_thread(next, pieces, None)) is not None:
        if timers and rows.messages and rows.messages[-1]["seq"] == count:
            change_end(rows, timers)
        speakers = home.speakers(job, prepared.header)
        prepared.speakers.put_into(rows, speakers)
        await store_rows(session, rows, speakers, now=job.runtime.clock())
        home.members.extend((member, None) for member in speakers.new)
    missing = await link_chat(session, job, conversation, prepared.metadata)
    await note_shown(session, job, prepared.shown, conversation.id)
    return ItemOutcome(
        verdict="exact" if prepared.is_exact else "converted",
        target_kind="conversation",
        target_id=conversation.id,
        notes=(*notes, *prepared.notes, *missing),
    )


def title_of(path: str) -> str:
    """The title of the conversation that a file becomes: its name."""
    return titled(path.rpartition("/")[2].removesuffix(".jsonl"), "Imported chat")


async def place_of(
    session: AsyncSession, job: ImportJob, item: Item, home: ChatHome
) -> tuple[ConversationPlace | None, tuple[str, ...]]:
    """Where the scan has found that a chat stands in a tree; sentences about what is not certain."""
    parent, fork = item.plan.get("parent"), item.plan.get("fork", 0)
    if parent is None:
        return None, ()
    row = (
        await session.execute(
            select(Conversation.id, Conversation.root_conversation_id, Message.id)
            .join(ImportedFile, ImportedFile.target_id == Conversation.id)
            .outerjoin(Message, and_(Message.conversation_id == Conversation.id, Message.seq == fork))
            .where(
                ImportedFile.source_id == job.source_id,
                ImportedFile.path == parent,
                Conversation.space_id == home.space.id,
            )
        )
    ).one_or_none()
    if row is None:
        return None, (_("The chat that it was branched from was not imported: {path}. It stands alone.", path=parent),)
    id, root_id, message_id = row
    place = ConversationPlace(
        kind=item.plan.get("kind", "branch"), parent_id=id, root_id=root_id or id, message_id=message_id
    )
    if item.plan.get("certain", True):
        return place, ()
    return place, (
        _(
            "It is shown as a branch of {name}: both begin in the same way. No link says so.",
            name=title_of(parent),
        ),
    )


HANDLERS: Mapping[FileKind, ItemHandler] = {"chat": ChatHandler()}
