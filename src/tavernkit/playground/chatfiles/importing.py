"""Bringing chats in: each becomes a new conversation of a space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatLimits, ChatMessage, read_chat
from tavernkit.errors import TavernKitError
from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.chatfiles.header import CHAT_FILE, beginning_of, kept_of, note_patch, variables_of
from tavernkit.playground.chatfiles.messages import NewMessage, new_message
from tavernkit.playground.chatfiles.queries import members_of
from tavernkit.playground.chatfiles.speakers import Speakers
from tavernkit.playground.database.bulk import insert_rows
from tavernkit.playground.database.models import Conversation, Message, MessageSwipe, SpaceMembership, TextContent
from tavernkit.playground.outcome import Refused
from tavernkit.playground.paths.snapshots import keep_snapshots, set_beginning
from tavernkit.playground.paths.state import State, changed_delta, fold
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.settings.patching import apply_changes, read_patch
from tavernkit.playground.spaces.access import Access, Entry, space_for
from tavernkit.playground.storable import titled
from tavernkit.reading import ImportReport
from tavernkit.sillytavern.macros.dates import parse_moment
from tavernkit.values import Value

__all__ = ["MAX_FILE_BYTES", "MAX_MESSAGES", "import_chats"]

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_MESSAGES = 100_000
"""More would hold up everybody else for too long."""

MAX_CHATS = 1000

_BATCH = 5_000
_LONGEST_DATE = 100
_OLDEST, _NEWEST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class NewChat(Value, frozen=True, kw_only=True):
    """A chat that has been read, with its messages as they will be stored."""

    file: ChatFile
    messages: tuple[NewMessage, ...]


async def import_chats(
    runtime: Runtime, viewer: Viewer, space_id: UUID, file: bytes, *, title: str = ""
) -> tuple[list[Conversation], ImportReport] | Refused:
    """Make a conversation of each chat in a file of SillyTavern or of another application that it reads.

    Only who runs the space may: a file puts words into the mouths of its members.
    """
    async with runtime.database.read() as session:
        entry = await space_for(session, space_id, viewer, Access.ADMINISTER)
        if isinstance(entry, Refused):
            return entry
        user_name, character_name = _names(entry, [member for member, _ in await members_of(session, space_id)])
    read = partial(
        read_chat,
        file,
        now=runtime.clock,
        user_name=user_name,
        character_name=character_name,
        limits=ChatLimits(file_bytes=MAX_FILE_BYTES),
    )
    try:
        files, report = await to_thread.run_sync(read)
    except TavernKitError as error:
        return Refused(code="invalid", sentence=str(error))
    total = sum(len(chat.messages) for chat in files)
    if total > MAX_MESSAGES or len(files) > MAX_CHATS:
        return Refused(
            code="too_long",
            sentence=f"The file has {total:,} messages in {len(files):,} chats; at most {MAX_MESSAGES:,} messages and "
            f"{MAX_CHATS:,} chats can be taken in at once.",
        )
    chats = [
        NewChat(file=chat, messages=tuple(new_message(message, runtime.ids) for message in chat.messages))
        for chat in files
    ]
    async with runtime.database.write() as session:
        entry = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True)
        if isinstance(entry, Refused):
            return entry
        members = await members_of(session, space_id)
        conversations: list[Conversation] = []
        for number, chat in enumerate(chats, start=1):
            header = chat.file.header
            speakers = Speakers(
                entry.space,
                members,
                own=entry.member,
                user_name="" if header is None else header.user_name,
                ids=runtime.ids,
                now=runtime.clock(),
            )
            name = titled(title, "Imported chat", limit=180)
            conversation = await _store(
                runtime, session, entry, chat, speakers, name if len(chats) == 1 else f"{name} {number}"
            )
            conversations.append(conversation)
            members = [*members, *((member, None) for member in speakers.new)]
        return conversations, report


async def _store(
    runtime: Runtime, session: AsyncSession, entry: Entry, chat: NewChat, speakers: Speakers, title: str
) -> Conversation:
    now = runtime.clock()
    conversation = Conversation(
        id=runtime.ids(),
        space_id=entry.space.id,
        title=title,
        settings={CHAT_FILE: kept_of(chat.file)},
        last_seq=len(chat.messages),
        messages_count=len(chat.messages),
        last_event=0,
        created_at=now,
        updated_at=now,
    )
    note = read_patch({"authors_note": note_patch(chat.file)}, "conversation")
    if not isinstance(note, Refused):
        apply_changes(conversation, "conversation", note)
    session.add(conversation)
    await session.flush()
    conversation.root_conversation_id = conversation.id
    authors = [speakers.who_said(message) for message in chat.file.messages]
    session.add_all(speakers.new)
    await session.flush()
    beginning, messages = _with_variables(chat)
    told = list(zip(chat.file.messages, messages, authors, strict=True))
    moment = now
    for start in range(0, len(told), _BATCH):
        batch = told[start : start + _BATCH]
        moment = await _insert(runtime, session, conversation.id, batch, first_seq=start + 1, moment=moment)
    if beginning:
        await set_beginning(session, conversation.id, beginning)
    else:
        await keep_snapshots(session, conversation.id, len(messages))
    return conversation


async def _insert(
    runtime: Runtime,
    session: AsyncSession,
    conversation_id: UUID,
    batch: Sequence[tuple[ChatMessage, NewMessage, SpaceMembership]],
    *,
    first_seq: int,
    moment: datetime,
) -> datetime:
    """Write messages with their texts and swipes; one without a date that makes sense gets that of the one before."""
    texts: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    swipes: list[dict[str, Any]] = []
    for seq, (file, new, author) in enumerate(batch, start=first_seq):
        moment = _moment(file) or moment
        message_id = runtime.ids()
        swipe_ids = [runtime.ids() for _ in new.swipes]
        texts += [{"id": swipe.text_id, "content": swipe.text} for swipe in new.swipes]
        messages.append(
            {
                "id": message_id,
                "conversation_id": conversation_id,
                "membership_id": author.id,
                "seq": seq,
                "role": new.role,
                "text_id": new.swipes[new.active].text_id,
                "visibility": new.visibility,
                "active_swipe_id": swipe_ids[new.active],
                "swipes_count": len(new.swipes),
                "revision": 1,
                "metadata_": new.metadata,
                "created_at": moment,
            }
        )
        swipes += [
            {
                "id": swipe_id,
                "message_id": message_id,
                "position": position,
                "text_id": swipe.text_id,
                "state_delta": swipe.state_delta,
                "metadata_": swipe.metadata,
                "created_at": moment,
            }
            for position, (swipe_id, swipe) in enumerate(zip(swipe_ids, new.swipes, strict=True))
        ]
    await insert_rows(session, TextContent, texts)
    await insert_rows(session, Message, messages)
    await insert_rows(session, MessageSwipe, swipes)
    return moment


def _with_variables(chat: NewChat) -> tuple[State, tuple[NewMessage, ...]]:
    """The state that the story begins with, and the messages.

    Whoever has written to the file since we did may have changed variables: the last message then makes up for it.
    """
    beginning, wanted = beginning_of(chat.file), variables_of(chat.file)
    told = fold(beginning, (message.swipes[message.active].state_delta for message in chat.messages))
    now = {key: value for key, value in told.items() if key.startswith("variables.")}
    if now == wanted:
        return beginning, chat.messages
    put = {key: value for key, value in wanted.items() if key not in now or now[key] != value}
    gone = [key for key in now if key not in wanted]
    if not chat.messages:
        return {key: value for key, value in (beginning | put).items() if key not in gone}, ()
    last = chat.messages[-1]
    swipes = tuple(
        swipe.with_(state_delta=changed_delta(swipe.state_delta, set=put, unset=gone)) for swipe in last.swipes
    )
    return beginning, (*chat.messages[:-1], last.with_(swipes=swipes))


def _names(entry: Entry, members: Sequence[SpaceMembership]) -> tuple[str, str]:
    """The names for a file that gives none: who brings it, and the first character."""
    character = next((member for member in members if member.kind == "character"), None)
    return (
        "User" if entry.member is None else entry.member.name_override or entry.member.cached_display_name,
        "Character" if character is None else character.name_override or character.cached_display_name,
    )


def _moment(message: ChatMessage) -> datetime | None:
    date = message.send_date
    if date is None or (isinstance(date, str) and len(date) > _LONGEST_DATE):
        return None
    if isinstance(date, float):
        date = int(date) if math.isfinite(date) else 0
    found = parse_moment(date, UTC)
    return found if found is not None and _OLDEST < found < _NEWEST else None
