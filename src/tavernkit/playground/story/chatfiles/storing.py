"""Writing a chat of a file into a conversation, some messages at a time; whose words are whose."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatHeader, ChatMessage
from tavernkit.playground.base.blobs.store import NewBlob, missing, store
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import (
    Conversation,
    ConversationInjection,
    Message,
    MessagePicture,
    MessageSwipe,
    PathSnapshot,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.chatfiles.messages import (
    APPLIED,
    CHAT_FILE,
    VARIABLE,
    NewMessage,
    NewSwipe,
    beginning_of,
    delta_of,
    injections_of_file,
    kept_of,
    new_message,
    settings_of_file,
    variables_of,
)
from tavernkit.playground.story.chatfiles.pictures import FilePicture, FindPicture, without_data
from tavernkit.playground.story.paths.state import EVERY, State, apply, changed_delta, fold
from tavernkit.playground.story.settings_schema.resolving import apply_changes
from tavernkit.sillytavern.macros.dates import parse_moment
from tavernkit.values import JsonObject, Value

NOBODY = "Somebody"


class CardNames(Protocol):
    """What a character is called."""

    @property
    def name(self) -> str: ...
    @property
    def nickname(self) -> str | None: ...


class Speakers(Protocol):
    """Says whose words a message is, by what stands for the member in a row."""

    def id_of(self, message: ChatMessage) -> Any: ...


class SpeakerFinder:
    """Finds the member who said something in a chat of a file.

    What the user of a file says is the member's who brings the file in, unless another person in the space has that
    name. A speaker whom nobody knows becomes a member who has already left, so that the words keep an author; `new`
    are those that were made, and `home_id` is the space they are put into. `avatars` are the members by the files of
    their cards: where these are known, a name says who speaks only if no two members have it.
    """

    def __init__(
        self,
        chat: ChatFile,
        space: Space,
        members: Sequence[tuple[SpaceMembership, CardNames | None]],
        *,
        own: SpaceMembership | None,
        ids: Callable[[], UUID],
        now: datetime,
        home_id: UUID | None = None,
        avatars: Mapping[str, SpaceMembership] | None = None,
    ) -> None:
        self.new: list[SpaceMembership] = []
        self._space = space
        self._home_id = home_id or space.id
        self._ids = ids
        self._now = now
        humans = [member for member, _ in members if member.kind == "human"]
        self._own = own or (humans[0] if humans else None)
        self._user_names = {"" if chat.header is None else chat.header.user_name, "", "unused"}
        self._humans = {name: member for member in reversed(humans) for name in _names(member)}
        self._avatars = avatars or {}
        self._characters: dict[str, SpaceMembership] = {}
        shared: set[str] = set()
        for member, character in reversed(members):
            for name in (*_names(member), *_names_of_card(character)) if member.kind == "character" else ():
                if self._characters.get(name, member) is not member:
                    shared.add(name)
                self._characters[name] = member
        for name in shared if self._avatars else ():
            del self._characters[name]

    def who_said(self, message: ChatMessage) -> SpaceMembership:
        """The author of a message."""
        name = titled(message.name, NOBODY)
        if message.is_user:
            known = self._humans.get(name)
            if known is not None:
                return known
            is_own = self._space.kind == "playground" or message.name in self._user_names
            if self._own is not None and is_own:
                return self._own
        elif self._avatars and (pictured := self._by_avatar(message)) is not None:
            return pictured
        return self._characters.get(name) or self._anchor(name)

    def id_of(self, message: ChatMessage) -> UUID:
        return self.who_said(message).id

    def _by_avatar(self, message: ChatMessage) -> SpaceMembership | None:
        for address in (message.original_avatar, message.force_avatar):
            known = self._avatars.get(card_file_of(address)) if address else None
            if known is not None:
                return known
        return None

    def _anchor(self, name: str) -> SpaceMembership:
        member = SpaceMembership(
            id=self._ids(),
            space_id=self._home_id,
            kind="character",
            status="removed",
            participation="muted",
            cached_display_name=name,
            created_at=self._now,
            removed_at=self._now,
            removed_reason=str(_("Author in an imported chat.")),
        )
        self.new.append(member)
        self._characters[name] = member
        return member


class LateSpeakers:
    """Numbers those who speak in a chat, for rows that are built before it is known who is in its space."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, bool, str | None, str | None], int] = {}
        self._first: list[ChatMessage] = []

    def id_of(self, message: ChatMessage) -> int:
        key = (message.name, message.is_user, message.original_avatar, message.force_avatar)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._first)
            self._first.append(message.with_(text="", swipes=(), swipe_info=(), extra={}, unknown={}))
        return number

    def put_into(self, rows: MessageRows, speakers: SpeakerFinder) -> None:
        """Let the rows name members of the space."""
        ids = [speakers.id_of(message) for message in self._first]
        for row in rows.messages:
            row["membership_id"] = ids[row["membership_id"]]


def card_file_of(address: str) -> str:
    """The file of the card that an address of a picture is about, such as `/thumbnail?type=avatar&file=Anna.png`."""
    parts = urlsplit(address)
    named = parse_qs(parts.query).get("file")
    return named[0] if named else unquote(parts.path.rpartition("/")[2]) if "/" in address else address


def _names(member: SpaceMembership) -> list[str]:
    return [name for name in (member.name_override, member.cached_display_name) if name]


def _names_of_card(character: CardNames | None) -> list[str]:
    if character is None:
        return []
    return [titled(name, NOBODY) for name in (character.name, character.nickname) if name]


PIECE_MESSAGES = 250
"""So many messages are prepared and written at once: others wait for some hundredths of a second."""

_LONGEST_DATE = 100
_OLDEST, _NEWEST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class NewChat(Value, frozen=True, kw_only=True):
    """A chat that has been read, with its pictures by their hashes: `beginning` is the state before its first message,
    `put` and `gone` are what the last message changes in the state beside what the file says about it."""

    file: ChatFile
    pictures: Mapping[str, FilePicture] = {}
    beginning: State
    put: State
    gone: list[str]


class MessageRange(Value, frozen=True, kw_only=True):
    """Some of the messages of one of the chats, `first` up to but not including `end`; none for a chat without any."""

    chat: int
    first: int
    end: int


class MessageRows(Value, frozen=True, kw_only=True):
    """Messages as they are inserted; `moment` is the time of the last of them, and `state` that of the story behind
    it."""

    texts: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    swipes: list[dict[str, Any]]
    pictures: list[dict[str, Any]]
    blobs: dict[str, Callable[[], NewBlob]]
    snapshots: list[dict[str, Any]]
    moment: datetime
    state: State


def new_chat(file: ChatFile, find: FindPicture | None = None) -> NewChat:
    """Work out the state that a chat begins and ends with; `find` finds the pictures that are not in the file.

    Whoever has written to the file since we did may have changed variables: the last message then makes up for it.
    """
    file, pictures = without_data(file, find)
    beginning = beginning_of(file)
    put, gone = missing_changes(file, fold(beginning, map(delta_of, file.messages)))
    if not file.messages:
        beginning = {key: value for key, value in (beginning | put).items() if key not in gone}
    return NewChat(file=file, pictures=pictures, beginning=beginning, put=put, gone=gone)


def with_header(chat: NewChat, header: ChatHeader) -> NewChat:
    """A chat whose file has no header, with one."""
    file = chat.file.with_(header=header)
    beginning = beginning_of(file)
    put, gone = missing_changes(file, fold(beginning, map(delta_of, file.messages)))
    return chat.with_(file=file, beginning=beginning, put=put, gone=gone)


def missing_changes(file: ChatFile, state: JsonObject) -> tuple[State, list[str]]:
    """What is to be set and unset in a state to have the variables that the header of a file names."""
    wanted = variables_of(file)
    now = {key: value for key, value in state.items() if key.startswith(VARIABLE)}
    put = {key: value for key, value in wanted.items() if key not in now or now[key] != value}
    return put, [key for key in now if key not in wanted]


def pieces_of(files: Sequence[ChatFile]) -> list[MessageRange]:
    """The steps in which chats are stored, in their order."""
    return [
        MessageRange(chat=number, first=first, end=min(first + PIECE_MESSAGES, len(file.messages)))
        for number, file in enumerate(files)
        for first in range(0, max(len(file.messages), 1), PIECE_MESSAGES)
    ]


def moment_before(file: ChatFile, first: int, default: datetime) -> datetime:
    """The time of the last message before `first` that has one."""
    moments = (_moment(message) for message in reversed(file.messages[:first]))
    return next((moment for moment in moments if moment is not None), default)


def state_before(chat: NewChat, first: int) -> State:
    """The state right before message `first`."""
    return fold(chat.beginning, map(delta_of, chat.file.messages[:first]))


def build_rows(
    chat: NewChat,
    piece: MessageRange,
    conversation_id: UUID,
    speakers: Speakers,
    *,
    moment: datetime,
    ids: Callable[[], UUID],
    state: State | None = None,
    start: int = 0,
) -> MessageRows:
    """The rows of some messages; one without a date that makes sense gets that of the one before, first `moment`.

    `state` is that of the story before them, and `start` how many messages the conversation has before the chat's.
    """
    state = state_before(chat, piece.first) if state is None else dict(state)
    rows = MessageRows(
        texts=[], messages=[], swipes=[], pictures=[], blobs={}, snapshots=[], moment=moment, state=state
    )
    last = start + len(chat.file.messages)
    for seq, file in enumerate(chat.file.messages[piece.first : piece.end], start=start + piece.first + 1):
        new = new_message(file, ids)
        if seq == last and (chat.put or chat.gone):
            new = _with_changes(new, chat)
        apply(state, new.swipes[new.active].state_delta)
        if seq % EVERY == 0:
            rows.snapshots.append({"conversation_id": conversation_id, "seq": seq, "state": dict(state)})
        moment = _moment(file) or moment
        message_id = ids()
        swipe_ids = [ids() for _ in new.swipes]
        rows.texts.extend({"id": swipe.text_id, "content": swipe.text} for swipe in new.swipes)
        rows.messages.append(
            {
                "id": message_id,
                "conversation_id": conversation_id,
                "membership_id": speakers.id_of(file),
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
        rows.swipes.extend(
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
        )
        for swipe_id, swipe in zip(swipe_ids, new.swipes, strict=True):
            if swipe.pictures:
                rows.pictures.extend(picture_rows(swipe, swipe_id, chat.pictures, ids, moment))
                rows.blobs.update((sha256, chat.pictures[sha256].read) for _kind, sha256, _title in swipe.pictures)
    return rows.with_(moment=moment)


def picture_rows(
    swipe: NewSwipe,
    swipe_id: UUID,
    pictures: Mapping[str, FilePicture],
    ids: Callable[[], UUID],
    moment: datetime,
) -> list[dict[str, Any]]:
    """The rows of the pictures of a swipe."""
    return [
        {
            "id": ids(),
            "swipe_id": swipe_id,
            "kind": kind,
            "position": position,
            "sha256": sha256,
            "width": pictures[sha256].width,
            "height": pictures[sha256].height,
            "title": title,
            "created_at": moment,
        }
        for position, (kind, sha256, title) in enumerate(swipe.pictures)
    ]


class ConversationPlace(Value, frozen=True, kw_only=True):
    """Where a conversation stands in a tree: what it branches from, and at which message."""

    kind: str
    parent_id: UUID
    root_id: UUID
    message_id: UUID | None


async def begin_conversation(
    session: AsyncSession,
    chat: NewChat,
    *,
    id: UUID,
    space_id: UUID,
    title: str,
    now: datetime,
    updated_at: datetime | None = None,
    place: ConversationPlace | None = None,
    kept: JsonObject | None = None,
) -> Conversation:
    """The conversation that the messages of a chat are then stored in; one without a `place` is a root. `kept` is what
    it keeps of its file beside what all do."""
    count = len(chat.file.messages)
    conversation = Conversation(
        id=id,
        space_id=space_id,
        kind="root" if place is None else place.kind,
        title=title,
        parent_conversation_id=None if place is None else place.parent_id,
        root_conversation_id=id if place is None else place.root_id,
        forked_from_message_id=None if place is None else place.message_id,
        last_seq=count,
        messages_count=count,
        created_at=now,
        updated_at=updated_at or now,
    )
    set_file(conversation, chat.file, kept)
    session.add(conversation)
    await session.flush()
    add_injections(session, conversation, chat.file, after=count)
    if chat.beginning:
        session.add(PathSnapshot(conversation_id=conversation.id, seq=0, state=chat.beginning))
    await session.flush()
    return conversation


def set_file(conversation: Conversation, file: ChatFile, kept: JsonObject | None = None) -> None:
    """Let a conversation have the settings that the header of a file names, and keep what the file says."""
    changes = settings_of_file({} if file.header is None else file.header.chat_metadata)
    document = {**kept_of(file), **(kept or {}), **({APPLIED: sorted(changes)} if changes else {})}
    conversation.settings = {**(conversation.settings or {}), CHAT_FILE: document}
    if changes:
        apply_changes(conversation, changes)


def add_injections(session: AsyncSession, conversation: Conversation, file: ChatFile, *, after: int) -> None:
    """The injections that a file names, for a conversation that has none."""
    session.add_all(
        ConversationInjection(
            **one.model_dump(), conversation_id=conversation.id, name=name, token=conversation.id, after_seq=after
        )
        for name, one in injections_of_file({} if file.header is None else file.header.chat_metadata).items()
    )


async def store_rows(session: AsyncSession, rows: MessageRows, speakers: SpeakerFinder, *, now: datetime) -> None:
    """Write some messages behind those that are there, with the speakers that only they have."""
    if speakers.new:
        session.add_all(speakers.new)
        await session.flush()
    await insert_rows(session, TextContent, rows.texts)
    await insert_rows(session, Message, rows.messages)
    await insert_rows(session, MessageSwipe, rows.swipes)
    # One at a time, always in the same order, and none that is there: a file may name thousands of pictures.
    for sha256 in await missing(session, rows.blobs):
        await store(session, [await asyncio.to_thread(rows.blobs[sha256])], now)
    await insert_rows(session, MessagePicture, rows.pictures)
    await insert_rows(session, PathSnapshot, rows.snapshots)


def change_end(rows: MessageRows, put: JsonObject, gone: Iterable[str] = ()) -> None:
    """Let the last message of a conversation change more in the state of the story, before its row is stored."""
    change = changed_delta(None, set=put, unset=gone)
    if change is None:
        return
    message_id, seq = rows.messages[-1]["id"], rows.messages[-1]["seq"]
    for swipe in rows.swipes:
        if swipe["message_id"] == message_id:
            swipe["state_delta"] = changed_delta(swipe["state_delta"], set=put, unset=gone)
    apply(rows.state, change)
    if rows.snapshots and rows.snapshots[-1]["seq"] == seq:
        rows.snapshots[-1]["state"] = dict(rows.state)


def _with_changes(message: NewMessage, chat: NewChat) -> NewMessage:
    return message.with_(
        swipes=tuple(
            swipe.with_(state_delta=changed_delta(swipe.state_delta, set=chat.put, unset=chat.gone))
            for swipe in message.swipes
        )
    )


def _moment(message: ChatMessage) -> datetime | None:
    date = message.send_date
    if date is None or (isinstance(date, str) and len(date) > _LONGEST_DATE):
        return None
    if isinstance(date, float):
        date = int(date) if math.isfinite(date) else 0
    found = parse_moment(date, UTC)
    return found if found is not None and _OLDEST < found < _NEWEST else None
