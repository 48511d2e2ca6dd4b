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
from tavernkit.playground.story.access.access import is_their_persona
from tavernkit.playground.story.access.personas import locked_personas
from tavernkit.playground.story.books.chapters import Chapters
from tavernkit.playground.story.books.epub import Book, BookWriter, CastMember, pictures_called
from tavernkit.playground.story.characters.queries import pictures_of
from tavernkit.playground.story.chatfiles.exporting import ChatExport, FindShownTexts, written_messages
from tavernkit.playground.story.chatfiles.messages import ExportedMessage
from tavernkit.playground.story.prompting.scripts import MessageToShow, show_messages
from tavernkit.values import Value

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
        speakers = await _speakers(session, export)
    title, subtitle = shown_name(export.space_name), shown_name(export.title)
    writer = BookWriter(
        Book(
            title=title,
            subtitle="" if subtitle == title else subtitle,
            identifier=f"urn:uuid:{export.conversation_id}",
            modified=runtime.clock(),
            cast=[speaker.member for speaker in speakers.values()],
            chapters=chapters,
        )
    )
    writer.begin()
    yield writer.take()
    find_shown = display_texts(runtime, export.conversation_id)
    async for stored, messages, _is_last in written_messages(runtime, export, has_pictures=True, find_shown=find_shown):
        messages = _with_names(speakers, stored, messages)
        pictures = await _card_pictures(runtime, speakers, stored, messages)
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


class BookSpeaker(Value, frozen=True, kw_only=True):
    """Who speaks in a conversation, and which character that is."""

    member: CastMember
    character_id: UUID | None


async def _speakers(session: AsyncSession, export: ChatExport) -> dict[UUID, BookSpeaker]:
    """Who speaks in the conversation, by their memberships, in their order, called as on its page."""
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
                SpaceMembership.cached_display_name.label("name"),
                func.coalesce(Character.thumbnail_sha256, Persona.avatar_sha256).label("portrait"),
            )
            .outerjoin(Character, Character.id == SpaceMembership.character_id)
            .outerjoin(Persona, is_their_persona())
            .where(said)
            .order_by(SpaceMembership.position, SpaceMembership.id)
            .limit(MOST_SPEAKERS)
        )
    ).all()
    locked = await locked_personas(session, export.conversation_id)
    found: dict[UUID, BookSpeaker] = {}
    for member in members:
        persona = None if member.user_id is None else locked.get(member.user_id)
        name, portrait = (member.name, member.portrait) if persona is None else (persona.name, persona.avatar_sha256)
        data = None if portrait is None else await session.scalar(select(Blob.data).where(Blob.sha256 == portrait))
        cast_member = CastMember(name=shown_name(name), portrait=data)
        found[member.id] = BookSpeaker(member=cast_member, character_id=member.character_id)
    return found


def _with_names(
    speakers: Mapping[UUID, BookSpeaker], stored: Sequence[ExportedMessage], messages: Sequence[ChatMessage]
) -> tuple[ChatMessage, ...]:
    """The messages by those who speak them: a file that was imported may call them otherwise."""
    return tuple(
        message.with_(name=speakers[row.membership_id].member.name) if row.membership_id in speakers else message
        for row, message in zip(stored, messages, strict=True)
    )


async def _card_pictures(
    runtime: Runtime,
    speakers: Mapping[UUID, BookSpeaker],
    stored: Sequence[ExportedMessage],
    messages: Sequence[ChatMessage],
) -> list[Mapping[str, str]]:
    """By what names each message may call the pictures of its character's card."""
    characters = [
        speakers[row.membership_id].character_id
        if row.membership_id in speakers and calls_pictures(shown_text(message))
        else None
        for row, message in zip(stored, messages, strict=True)
    ]
    wanted = {id for id in characters if id is not None}
    if not wanted:
        return [_NO_PICTURES] * len(messages)
    async with runtime.database.read() as session:
        found = await pictures_of(session, wanted)
    return [_NO_PICTURES if id is None else found.get(id, _NO_PICTURES) for id in characters]


def _called(message: ChatMessage, pictures: Mapping[str, str]) -> set[str]:
    return pictures_called(shown_text(message), pictures) if pictures else set()
