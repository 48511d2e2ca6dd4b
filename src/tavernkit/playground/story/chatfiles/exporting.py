"""Exporting a conversation page by page, in any of the formats."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, ChatHeader, ChatMessage, StrayLine, write_chat
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    Conversation,
    Message,
    MessagePicture,
    MessageSwipe,
    PathSnapshot,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.access.personas import locked_persona, named_persona, persona_with_avatar
from tavernkit.playground.story.chatfiles.formats import FORMATS, Format
from tavernkit.playground.story.chatfiles.messages import (
    CHAT_FILE,
    FROM_GROUP,
    GROUP_FILE,
    ExportedMessage,
    ExportedSwipe,
    ForkLinks,
    named_pictures,
    strays_of,
    with_links,
    written_header,
    written_message,
)
from tavernkit.playground.story.paths.injections import injections_of
from tavernkit.playground.story.paths.state import State, state_at
from tavernkit.values import Value


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


def authors_of(
    members: list[tuple[SpaceMembership, Character | None]], avatars: Mapping[UUID, str] | None = None
) -> dict[UUID, Author]:
    """How a file names the members; in a group, it also names the cards, by `avatars` where it has a name there."""
    files = avatars or {}
    cards = [member for member, _ in members if member.kind == "character" and member.status == "active"]
    authors: dict[UUID, Author] = {}
    for member, character in members:
        name = member.name_override or member.cached_display_name
        avatar = None
        if character is not None and len(cards) > 1:
            avatar = files.get(character.id, f"{character.name}.png")
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
            id=row.id,
            seq=row.seq,
            membership_id=row.membership_id,
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
    runtime: Runtime, page: Sequence[ExportedMessage], *, is_embedded: bool
) -> AsyncIterator[tuple[Sequence[ExportedMessage], Mapping[str, tuple[str, bytes]]]]:
    """The messages, as many at a time as have a few pictures, with the types and bytes of these."""
    pieces: list[tuple[list[ExportedMessage], set[str]]] = [([], set())]
    for message in page:
        own = {picture.sha256 for swipe in message.swipes for picture in swipe.pictures}
        if own and not is_embedded:
            own -= named_pictures(message)
        messages, names = pieces[-1]
        if len(names | own) > PICTURES_AT_ONCE and names:
            pieces.append(([message], own))
            continue
        names |= own
        messages.append(message)
    for messages, names in pieces:
        blobs: dict[str, tuple[str, bytes]] = {}
        if names:
            async with runtime.database.read() as session:
                query = select(Blob.sha256, Blob.media_type, Blob.data).where(Blob.sha256.in_(names))
                blobs = {row.sha256: (row.media_type, row.data) for row in await session.execute(query)}
        yield messages, blobs


PAGE = 500
PICTURES_AT_ONCE = 8
"""Of how many pictures the bytes are held while a file is written."""


class FolderNames(Value, frozen=True, kw_only=True):
    """What conversations, characters and groups are called in the folder that a file is written for: the names of their
    files, those of conversations and groups without an ending."""

    chats: Mapping[UUID, str] = {}
    avatars: Mapping[UUID, str] = {}
    groups: Mapping[UUID, str] = {}


class ChatExport(Value, frozen=True, kw_only=True):
    """A conversation that may be taken out, and what its file begins with; in a folder, `links` are the names of the
    checkpoint and of the branches that were made from a message."""

    conversation_id: UUID
    title: str
    space_name: str
    header: ChatHeader | None
    strays: tuple[StrayLine, ...]
    authors: dict[UUID, Author]
    links: Mapping[UUID, ForkLinks] = {}
    is_embedded: bool = True


async def export_chat(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, folder: FolderNames | None = None
) -> ChatExport:
    """Prepare a file, for who may read the conversation; one that is to lie in a folder with others, with links to
    them, and with pictures by the addresses that they have there."""
    names = folder or FolderNames()
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        members = await members_of(session, access.space.id)
        kept = conversation.settings.get(CHAT_FILE)
        strays = strays_of(kept) if isinstance(kept, dict) else ()
        header: ChatHeader | None = None
        if folder is None or not is_headless(access.space, conversation):
            header = await header_of(session, viewer, conversation, access, members, names)
            if isinstance(kept, dict) and kept.get(FROM_GROUP):
                # They were counted in a file that had none.
                strays = tuple(stray.with_(before=stray.before + 1) for stray in strays)
        return ChatExport(
            conversation_id=conversation.id,
            title=conversation.title,
            space_name=access.space.name,
            header=header,
            strays=strays,
            authors=authors_of(members, names.avatars),
            links=await _links(session, conversation.id, names.chats) if folder is not None else {},
            is_embedded=folder is None,
        )


def is_headless(space: Space, conversation: Conversation) -> bool:
    """Whether the file of a conversation has no header in its folder: up to version 1.14, that of a group has what
    headers say."""
    group, kept = space.prompt_settings.get(GROUP_FILE), conversation.settings.get(CHAT_FILE)
    if not isinstance(group, dict) or not ("chat_metadata" in group or "past_metadata" in group):
        return False
    return not isinstance(kept, dict) or bool(kept.get(FROM_GROUP)) or kept.get("header") is None


async def header_of(
    session: AsyncSession,
    viewer: Viewer,
    conversation: Conversation,
    access: SpaceAccess,
    members: list[tuple[SpaceMembership, Character | None]],
    names: FolderNames,
) -> ChatHeader | None:
    """What the file of a conversation begins with, as the conversation is now."""
    authors, parent_id = authors_of(members, names.avatars), conversation.parent_conversation_id
    people = [authors[member.id].name for member, _ in members if member.kind == "human"]
    characters = [
        authors[member.id].name for member, _ in members if member.kind == "character" and member.status == "active"
    ]
    alone = len(characters) == 1
    kept = conversation.settings.get(CHAT_FILE)
    return written_header(
        kept if isinstance(kept, dict) else None,
        # As in SillyTavern's own files: in a group, the speakers stand in the messages.
        user_name=people[0] if alone and people else "unused",
        character_name=characters[0] if alone else "unused",
        beginning=await beginning_of(session, conversation.id),
        state=await state_at(session, conversation.id, conversation.last_seq),
        settings=conversation.settings,
        # Others who may read the story do not see what is behind it.
        injections=await injections_of(session, conversation.id)
        if access.member is not None or access.level >= Access.ADMINISTER
        else None,
        persona=await _locked_to(session, conversation, viewer),
        main_chat=None if parent_id is None else names.chats.get(parent_id),
    )


async def _links(session: AsyncSession, conversation_id: UUID, names: Mapping[UUID, str]) -> dict[UUID, ForkLinks]:
    """The checkpoint and the branches that were made from each message, the newest checkpoint if there are several."""
    rows = await session.execute(
        select(Conversation.id, Conversation.kind, Conversation.forked_from_message_id)
        .where(
            Conversation.parent_conversation_id == conversation_id,
            Conversation.status != "deleting",
            Conversation.forked_from_message_id.is_not(None),
            Conversation.kind.in_(("branch", "checkpoint")),
        )
        .order_by(Conversation.created_at, Conversation.id)
    )
    found: dict[UUID, ForkLinks] = {}
    for id, kind, message_id in rows:
        if id in names and message_id is not None:
            links = found.get(message_id, ForkLinks())
            is_branch = kind == "branch"
            found[message_id] = links.with_(
                checkpoint=links.checkpoint if is_branch else names[id],
                branches=(*links.branches, names[id]) if is_branch else links.branches,
            )
    return found


async def _locked_to(session: AsyncSession, conversation: Conversation, viewer: Viewer) -> str | None:
    """The file name of the persona that the chat is locked to; None where that is not for us to say."""
    locked = await locked_persona(session, conversation.id, viewer.user_id)
    if locked is not None:
        return str(locked.file.get("avatar", "")) or None
    named = await persona_with_avatar(session, viewer.user_id, named_persona(conversation.settings))
    return None if named is None else ""


def encoded(piece: str) -> bytes:
    """A piece of a file as bytes: a line that is no message, and was not UTF-8, as it was."""
    try:
        return piece.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return piece.encode("utf-8", "replace")


FindShownTexts: TypeAlias = Callable[[Sequence[ExportedMessage]], Awaitable[Mapping[UUID, str]]]
"""What some messages that follow each other say on pages, where that is not what is stored."""


async def stored_texts(_messages: Sequence[ExportedMessage]) -> Mapping[UUID, str]:
    """No message is shown as anything but what is stored."""
    return {}


def _written(
    export: ChatExport, message: ExportedMessage, blobs: Mapping[str, tuple[str, bytes]], shown: Mapping[UUID, str]
) -> ChatMessage:
    written = written_message(message, blobs, is_embedded=export.is_embedded)
    if message.id in shown:
        written = written.with_(extra={**written.extra, "display_text": shown[message.id]})
    links = export.links.get(message.id)
    return written if links is None else with_links(written, links)


async def written_messages(
    runtime: Runtime, export: ChatExport, *, has_pictures: bool, find_shown: FindShownTexts = stored_texts
) -> AsyncIterator[tuple[Sequence[ExportedMessage], tuple[ChatMessage, ...], bool]]:
    """The messages, a few at a time, as stored and as a file has them, and whether they are the last. No transaction is
    open in between."""
    behind, is_last = 0, False
    while not is_last:
        async with runtime.database.read() as session:
            page, behind = await exported_messages(
                session, export.conversation_id, export.authors, behind=behind, limit=PAGE
            )
        shown = await find_shown(page)
        async for few, blobs in _with_blobs(runtime, page, is_embedded=export.is_embedded):
            kept = blobs if has_pictures else {}
            is_last = len(page) < PAGE and (not page or few[-1] is page[-1])
            yield few, tuple(_written(export, message, kept, shown) for message in few), is_last


async def written_chat(
    runtime: Runtime, export: ChatExport, format: Format, find_shown: FindShownTexts = stored_texts
) -> AsyncIterator[str]:
    """The file piece by piece. Nothing is held while somebody takes their time to receive a piece."""
    lines = 0
    header, strays = export.header, export.strays
    is_first = True
    make_form = FORMATS[format].form
    form = None if make_form is None else make_form(export.title)
    if form is not None:
        yield form.opening
    pages = written_messages(runtime, export, has_pictures=FORMATS[format].has_pictures, find_shown=find_shown)
    async for _stored, messages, is_last in pages:
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
    if form is not None:
        yield form.closing
