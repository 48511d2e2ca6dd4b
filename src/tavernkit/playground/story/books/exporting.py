"""Exporting a conversation for reading: as its pages show it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatMessage
from tavernkit.chats.forms import shown_text
from tavernkit.playground.base.database.models import Blob, Character, Message, Persona, SpaceMembership
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import calls_pictures
from tavernkit.playground.story.access.personas import locked_personas
from tavernkit.playground.story.books.chapters import Chapters
from tavernkit.playground.story.books.epub import Book, BookWriter, CastMember, pictures_called
from tavernkit.playground.story.characters.queries import pictures_of
from tavernkit.playground.story.chatfiles.exporting import ChatExport, FindShownTexts, written_messages
from tavernkit.playground.story.chatfiles.messages import ExportedMessage
from tavernkit.playground.story.prompting.scripts import MessageToShow, show_messages

MOST_SPEAKERS = 100
SHOWN_AT_ONCE = 50
"""As many as a page shows: scripts have a limited time for each page."""
_NO_PICTURES: Mapping[str, str] = {}


def display_texts(runtime: Runtime, conversation_id: UUID) -> FindShownTexts:
    """What regex scripts for display make of the messages of a conversation."""

    async def find(messages: Sequence[ExportedMessage]) -> Mapping[UUID, str]:
        found: dict[UUID, str] = {}
        for start in range(0, len(messages), SHOWN_AT_ONCE):
            page = [_to_show(message) for message in messages[start : start + SHOWN_AT_ONCE] if message.swipes]
            async with runtime.database.read() as session:
                shown = await show_messages(session, conversation_id, page)
            found |= {id: texts.text for id, texts in shown.items()}
        return found

    return find


def _to_show(message: ExportedMessage) -> MessageToShow:
    return MessageToShow(
        id=message.id,
        seq=message.seq,
        member_id=message.membership_id,
        role=message.role,
        text=message.swipes[message.active].text,
        created_at=message.created_at,
        in_prompts=message.visibility == "normal",
    )


async def written_book(runtime: Runtime, export: ChatExport, chapters: Chapters) -> AsyncIterator[bytes]:
    """The conversation as an EPUB, piece by piece."""
    async with runtime.database.read() as session:
        cast, characters = await _cast(session, export)
    title, subtitle = shown_name(export.space_name), shown_name(export.title)
    writer = BookWriter(
        Book(
            title=title,
            subtitle="" if subtitle == title else subtitle,
            identifier=f"urn:uuid:{export.conversation_id}",
            modified=runtime.clock(),
            cast=cast,
            chapters=chapters,
        )
    )
    writer.begin()
    yield writer.take()
    find_shown = display_texts(runtime, export.conversation_id)
    async for stored, messages, _is_last in written_messages(runtime, export, has_pictures=True, find_shown=find_shown):
        pictures = await _card_pictures(runtime, characters, stored, messages)
        for sha256 in {sha for message, own in zip(messages, pictures, strict=True) for sha in _called(message, own)}:
            if not writer.knows(sha256):
                async with runtime.database.read() as session:
                    data = await session.scalar(select(Blob.data).where(Blob.sha256 == sha256))
                if data is not None:
                    writer.add_picture(data)
                    yield writer.take()
        await asyncio.to_thread(writer.add, list(zip(messages, pictures, strict=True)))
        yield writer.take()
    writer.finish()
    yield writer.take()


async def _cast(session: AsyncSession, export: ChatExport) -> tuple[list[CastMember], dict[UUID, UUID]]:
    """Who speaks in the conversation, in their order, with their portraits; and the characters of members."""
    said = exists().where(
        Message.membership_id == SpaceMembership.id,
        Message.conversation_id == export.conversation_id,
        Message.visibility == "normal",
    )
    members = (
        await session.execute(
            select(
                SpaceMembership.id,
                SpaceMembership.user_id,
                SpaceMembership.character_id,
                func.coalesce(Character.thumbnail_sha256, Persona.avatar_sha256).label("portrait"),
            )
            .outerjoin(Character, Character.id == SpaceMembership.character_id)
            .outerjoin(Persona, Persona.id == SpaceMembership.persona_id)
            .where(said)
            .order_by(SpaceMembership.position, SpaceMembership.id)
            .limit(MOST_SPEAKERS)
        )
    ).all()
    locked = await locked_personas(session, export.conversation_id)
    cast: list[CastMember] = []
    for member in members:
        persona = None if member.user_id is None else locked.get(member.user_id)
        portrait = member.portrait if persona is None else persona.avatar_sha256
        data = None if portrait is None else await session.scalar(select(Blob.data).where(Blob.sha256 == portrait))
        cast.append(CastMember(name=shown_name(export.authors[member.id].name), portrait=data))
    return cast, {member.id: member.character_id for member in members if member.character_id is not None}


async def _card_pictures(
    runtime: Runtime,
    characters: Mapping[UUID, UUID],
    stored: Sequence[ExportedMessage],
    messages: Sequence[ChatMessage],
) -> list[Mapping[str, str]]:
    """By what names each message may call the pictures of its character's card."""
    speakers = [
        characters.get(row.membership_id) if calls_pictures(shown_text(message)) else None
        for row, message in zip(stored, messages, strict=True)
    ]
    wanted = {id for id in speakers if id is not None}
    if not wanted:
        return [_NO_PICTURES] * len(messages)
    async with runtime.database.read() as session:
        found = await pictures_of(session, wanted)
    return [_NO_PICTURES if id is None else found.get(id, _NO_PICTURES) for id in speakers]


def _called(message: ChatMessage, pictures: Mapping[str, str]) -> set[str]:
    return pictures_called(shown_text(message), pictures) if pictures else set()
