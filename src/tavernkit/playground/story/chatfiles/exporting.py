"""Exporting a conversation page by page, in any of the formats."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatHeader, StrayLine, write_chat
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    Conversation,
    Message,
    MessagePicture,
    MessageSwipe,
    PathSnapshot,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.access.personas import locked_persona, named_persona, persona_with_avatar
from tavernkit.playground.story.chatfiles.formats import FORMATS, Format
from tavernkit.playground.story.chatfiles.messages import (
    CHAT_FILE,
    ExportedMessage,
    ExportedSwipe,
    strays_of,
    written_header,
    written_message,
)
from tavernkit.playground.story.paths.injections import injections_of
from tavernkit.playground.story.paths.state import State, state_at
from tavernkit.values import Json, Value


class Author(Value, frozen=True, kw_only=True):
    """Who said something: the name, and the file of the card in a group."""

    name: str
    avatar: str | None = None


async def members_of(session: AsyncSession, space_id: UUID) -> list[tuple[SpaceMembership, Character | None]]:
    """All who are or were in a space, those who are there first, each with the card of a character."""
    rows = await session.execute(
        select(SpaceMembership, Character)
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .where(SpaceMembership.space_id == space_id)
        .order_by(SpaceMembership.status, SpaceMembership.position, SpaceMembership.created_at, SpaceMembership.id)
    )
    return [(member, character) for member, character in rows]


def authors_of(members: list[tuple[SpaceMembership, Character | None]]) -> dict[UUID, Author]:
    """How a file names the members; in a group, it also names the cards."""
    cards = [member for member, _ in members if member.kind == "character" and member.status == "active"]
    authors: dict[UUID, Author] = {}
    for member, character in members:
        name = member.name_override or member.cached_display_name
        avatar = f"{character.name}.png" if character is not None and len(cards) > 1 else None
        authors[member.id] = Author(name=name, avatar=avatar)
    return authors


async def beginning_of(session: AsyncSession, conversation_id: UUID) -> State:
    """The state before the first message."""
    found: State | None = await session.scalar(
        select(PathSnapshot.state).where(PathSnapshot.conversation_id == conversation_id, PathSnapshot.seq == 0)
    )
    return found or {}


async def exported_messages(
    session: AsyncSession, conversation_id: UUID, authors: Mapping[UUID, Author], *, behind: int, limit: int
) -> tuple[list[ExportedMessage], int]:
    """The next messages that are not deleted, with their swipes, in two statements; and where the next page begins."""
    rows = (
        await session.execute(
            select(
                Message.id,
                Message.seq,
                Message.membership_id,
                Message.role,
                Message.visibility,
                Message.active_swipe_id,
                Message.metadata_,
                Message.created_at,
            )
            .where(Message.conversation_id == conversation_id, Message.seq > behind, Message.visibility != "hidden")
            .order_by(Message.seq)
            .limit(limit)
        )
    ).all()
    if not rows:
        return [], behind
    swipes = await _swipes(session, conversation_id, rows[0].seq, rows[-1].seq)
    messages = [
        ExportedMessage(
            name=authors[row.membership_id].name,
            avatar=authors[row.membership_id].avatar,
            role=row.role,
            visibility=row.visibility,
            active_swipe_id=row.active_swipe_id,
            swipes=tuple(swipes[row.id]),
            metadata=row.metadata_,
            created_at=row.created_at,
        )
        for row in rows
    ]
    return messages, rows[-1].seq


async def _swipes(
    session: AsyncSession, conversation_id: UUID, first: int, last: int
) -> dict[UUID, list[ExportedSwipe]]:
    rows = await session.execute(
        select(
            MessageSwipe.message_id,
            MessageSwipe.id,
            MessageSwipe.text_id,
            TextContent.content,
            MessageSwipe.metadata_,
            MessageSwipe.state_delta,
            MessageSwipe.created_at,
        )
        .join(Message, Message.id == MessageSwipe.message_id)
        .join(TextContent, TextContent.id == MessageSwipe.text_id)
        .where(Message.conversation_id == conversation_id, Message.seq.between(first, last))
        .order_by(Message.seq, MessageSwipe.position)
    )
    pictures = await _pictures(session, conversation_id, first, last)
    swipes: defaultdict[UUID, list[ExportedSwipe]] = defaultdict(list)
    for row in rows:
        swipes[row.message_id].append(ExportedSwipe(*row)._replace(pictures=pictures[row.id]))
    return swipes


async def _pictures(
    session: AsyncSession, conversation_id: UUID, first: int, last: int
) -> Mapping[UUID | None, list[MessagePicture]]:
    found: defaultdict[UUID | None, list[MessagePicture]] = defaultdict(list)
    rows = await session.scalars(
        select(MessagePicture)
        .join(MessageSwipe, MessageSwipe.id == MessagePicture.swipe_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(
            Message.conversation_id == conversation_id,
            Message.seq.between(first, last),
            MessagePicture.kind != "expression",
        )
        .order_by(MessagePicture.position, MessagePicture.id)
    )
    for row in rows:
        found[row.swipe_id].append(row)
    return found


async def _with_blobs(
    runtime: Runtime, page: Sequence[ExportedMessage]
) -> AsyncIterator[tuple[Sequence[ExportedMessage], Mapping[str, tuple[str, bytes]]]]:
    """The messages, as many at a time as have a few pictures, with the types and bytes of these."""
    pieces: list[list[ExportedMessage]] = [[]]
    names: set[str] = set()
    for message in page:
        own = {picture.sha256 for swipe in message.swipes for picture in swipe.pictures}
        if len(names | own) > PICTURES_AT_ONCE and names:
            pieces.append([])
            names = set()
        names |= own
        pieces[-1].append(message)
    for piece in pieces:
        shown = {picture.sha256 for message in piece for swipe in message.swipes for picture in swipe.pictures}
        blobs: dict[str, tuple[str, bytes]] = {}
        if shown:
            async with runtime.database.read() as session:
                query = select(Blob.sha256, Blob.media_type, Blob.data).where(Blob.sha256.in_(shown))
                blobs = {row.sha256: (row.media_type, row.data) for row in await session.execute(query)}
        yield piece, blobs


PAGE = 500
PICTURES_AT_ONCE = 8
"""Of how many pictures the bytes are held while a file is written."""


class ChatExport(Value, frozen=True, kw_only=True):
    """A conversation that may be taken out, and what its file begins with."""

    conversation_id: UUID
    title: str
    header: ChatHeader | None
    strays: tuple[StrayLine, ...]
    authors: dict[UUID, Author]


async def export_chat(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> ChatExport:
    """Prepare a file, for who may read the conversation."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        members = await members_of(session, access.space.id)
        authors = authors_of(members)
        people = [authors[member.id].name for member, _ in members if member.kind == "human"]
        characters = [
            authors[member.id].name for member, _ in members if member.kind == "character" and member.status == "active"
        ]
        alone = len(characters) == 1
        kept = conversation.settings.get(CHAT_FILE)
        note: Json = conversation.settings.get("authors_note")
        header = written_header(
            kept if isinstance(kept, dict) else None,
            # As in SillyTavern's own files: in a group, the speakers stand in the messages.
            user_name=people[0] if alone and people else "unused",
            character_name=characters[0] if alone else "unused",
            beginning=await beginning_of(session, conversation.id),
            state=await state_at(session, conversation.id, conversation.last_seq),
            note=note if isinstance(note, dict) else {},
            # Others who may read the story do not see what is behind it.
            injections=await injections_of(session, conversation.id)
            if access.member is not None or access.level >= Access.ADMINISTER
            else None,
            persona=await _locked_to(session, conversation, viewer),
        )
        return ChatExport(
            conversation_id=conversation.id,
            title=conversation.title,
            header=header,
            strays=strays_of(kept) if isinstance(kept, dict) else (),
            authors=authors,
        )


async def _locked_to(session: AsyncSession, conversation: Conversation, viewer: Viewer) -> str | None:
    """The file name of the persona that the chat is locked to; None where that is not for us to say."""
    locked = await locked_persona(session, conversation.id, viewer.user_id)
    if locked is not None:
        return str(locked.file.get("avatar", "")) or None
    named = await persona_with_avatar(session, viewer.user_id, named_persona(conversation.settings))
    return None if named is None else ""


async def written_chat(runtime: Runtime, export: ChatExport, format: Format) -> AsyncIterator[str]:
    """The file piece by piece. No transaction is open while somebody takes their time to receive a piece."""
    lines = 0
    behind = 0
    header, strays = export.header, export.strays
    is_first = True
    make_form = FORMATS[format].form
    form = None if make_form is None else make_form(export.title)
    if form is not None:
        yield form.opening
    while True:
        async with runtime.database.read() as session:
            page, behind = await exported_messages(
                session, export.conversation_id, export.authors, behind=behind, limit=PAGE
            )
        async for few, blobs in _with_blobs(runtime, page):
            kept = blobs if FORMATS[format].has_pictures else {}
            messages = tuple(written_message(message, kept) for message in few)
            is_last = len(page) < PAGE and (not page or few[-1] is page[-1])
            if form is not None:
                if text := await asyncio.to_thread(form.join, messages):
                    yield text if is_first else form.between + text
                    is_first = False
                continue
            count = len(messages) + (0 if header is None else 1)
            here = tuple(stray for stray in strays if is_last or stray.before < lines + count)
            piece = ChatFile(
                header=header,
                messages=messages,
                strays=tuple(stray.with_(before=stray.before - lines) for stray in here),
            )
            if count or here:
                yield ("" if is_first else "\n") + write_chat(piece)
                is_first = False
            lines += count
            header, strays = None, strays[len(here) :]
        if len(page) < PAGE:
            break
    if form is not None:
        yield form.closing
